"""`sfumato attack`: run one attack and show what it recovers."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.progress import Progress

from sfumato.artifacts import require_free
from sfumato.attacks import ATTACKS
from sfumato.attacks.base import Attack, OnStep
from sfumato.cli.attack_all import attack_all
from sfumato.cli.attacked import (
    GivenFiles,
    GivenRows,
    gather,
    label_map,
    labelled_concept,
    open_victim,
)
from sfumato.cli.options.attack import (
    AllOption,
    AttackOption,
    BeamOption,
    ConceptOption,
    ControlOption,
    EmbedderOption,
    EmbeddingsOption,
    EpsilonOption,
    ForceOption,
    IdColumnOption,
    LabelsOption,
    LimitOption,
    LoadOption,
    MechanismOption,
    MinutesOption,
    NoiseRatioOption,
    ProtectorOption,
    SaveOption,
    SeedOption,
    SettingOption,
    ShowOption,
    ShowTextsOption,
    SpansOption,
    StepsOption,
    TermsOption,
    TextsOption,
    TrainOption,
)
from sfumato.cli.options.shared import (
    AllowRemoteOption,
    InputFile,
    MaxNormOption,
    TextColumnOption,
    VectorColumnOption,
    bound_given,
    column_names,
    named_concepts,
)
from sfumato.cli.output import JsonOption, console, write_json
from sfumato.cli.progress import progress
from sfumato.concepts.concept import Concept
from sfumato.errors import InputError
from sfumato.metrics.intervals import Figure
from sfumato.numbers import whole_number
from sfumato.trials.everything import offered_to_all
from sfumato.trials.making import make_attack, settings_of
from sfumato.trials.running import AttackResult, run_attack
from sfumato.trials.threat import ThreatModel

NAME = "attack"
EXAMPLE = (
    "Examples: sfumato attack notes.jsonl --attack tokens --concept location --protector places  |  "
    "sfumato attack vectors.npy --attack minilm --json read.json"
)
_LIMIT = 20_000


def _settings(values: list[str] | None, **asked: int | None) -> dict[str, Any]:
    """What --steps, --beam and --set say: NAME=VALUE, the value as JSON or else as it is written."""
    found: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    for each in values or []:
        name, equals, value = each.partition("=")
        if not equals or not name.isidentifier():
            raise InputError(f"--set has to read NAME=VALUE. Found {each!r:.60}.")
        try:
            found[name] = json_format.loads(value)
        except ValueError:
            found[name] = value
    return found


def _mover(bar: Progress) -> OnStep:
    def move(label: str, share: float) -> None:
        bar.update(bar.task_ids[0], description=label, completed=round(100 * share))

    return move


def _show(result: AttackResult, rows: GivenRows, count: int, everything: bool) -> None:
    """Print recovered beside true, for rows that may be shown and no other."""
    screen, shown = console(), 0
    if not count:
        return
    for place, row in enumerate(result.trial.rows.tolist()):
        if shown == count:
            break
        if not everything and not rows.showable[row]:
            continue
        found = result.recovered.rows[place]
        text = found if isinstance(found, str) else ", ".join(found)
        screen.print(f"row {row}  read  {escape(text)}", highlight=False)
        if rows.texts is not None:
            screen.print(f"row {row}  true  {escape(rows.texts[row])}", highlight=False)
        shown += 1
    if not shown:
        screen.print("No row is marked showable. Add a boolean column `showable`, or --show-texts for all.")


def _report(name: str, threat: ThreatModel, result: AttackResult) -> None:
    screen = console()
    learned = f", fitted to {len(result.trial.learned)} texts" if result.trial.learned else ""
    screen.print(f"{name}: {len(result.recovered)} rows read{learned}")
    victim = threat.victim
    if victim is not None:
        screen.print(f"released through {victim.guarantee.describe()}")
    for figure in result.figures:
        screen.print(_line(figure))
    if not result.figures:
        screen.print("The true texts are not known, so nothing can be scored.")
    if result.control is not None:
        screen.print(f"positive control, clean vectors: {_line(result.control)}")
    else:
        screen.print("No positive control: a low figure may only mean that the attack does not work here.")


def _line(figure: Figure) -> str:
    return f"{figure.metric} {figure.value:.3f}  [{figure.low:.3f}, {figure.high:.3f}]  of {figure.count}"


def _plain(value: Any) -> Any:
    """A setting, ready for JSON; parts such as an encoder go by their name."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return getattr(value, "name", type(value).__name__)


def command(
    source: InputFile,
    attack: AttackOption = None,
    everything: AllOption = False,
    minutes: MinutesOption = 10.0,
    texts: TextsOption = None,
    labels: LabelsOption = None,
    text_column: TextColumnOption = None,
    vector_column: VectorColumnOption = None,
    id_column: IdColumnOption = None,
    train: TrainOption = None,
    embeddings: EmbeddingsOption = None,
    protector: ProtectorOption = None,
    mechanism: MechanismOption = None,
    epsilon: EpsilonOption = None,
    noise_ratio: NoiseRatioOption = None,
    max_norm: MaxNormOption = None,
    embedder: EmbedderOption = None,
    allow_remote: AllowRemoteOption = None,
    concept: ConceptOption = None,
    terms: TermsOption = None,
    spans: SpansOption = None,
    steps: StepsOption = None,
    beam: BeamOption = None,
    setting: SettingOption = None,
    limit: LimitOption = _LIMIT,
    seed: SeedOption = 0,
    control: ControlOption = True,
    save: SaveOption = None,
    force: ForceOption = False,
    load: LoadOption = None,
    show: ShowOption = 0,
    show_texts: ShowTextsOption = False,
    json: JsonOption = None,
) -> None:
    """Run one attack, or all that fit, on vectors that are yours or that you may test: what is read?"""
    one = {"--set": setting, "--steps": steps, "--beam": beam, "--save": save, "--load": load}
    _refuse(attack, everything, [name for name, value in one.items() if value is not None])
    if save is not None:
        require_free(save, replace=force)
    most, names = whole_number(limit, "--limit", 1, 10**9), column_names(text_column, vector_column)
    files = GivenFiles(source, texts, embeddings, train, labels, most, names, id_column)
    made = open_victim(protector, mechanism, epsilon, noise_ratio, allow_remote)
    looked_for = _concept(concept, terms, spans)
    noise = (mechanism, epsilon, noise_ratio, bound_given(max_norm, mechanism))
    threat, rows, own = gather(files, made, noise, embedder, seed)
    looked_for, named = looked_for or labelled_concept(spans, rows, own), label_map(rows, own)
    if everything:
        return attack_all(threat, minutes, looked_for, named, seed, show_texts, json)
    offered = offered_to_all(threat, looked_for, named, seed)
    attacker = make_attack(str(attack), _settings(setting, steps=steps, beam=beam), offered)
    with progress("setting up", 100) as bar:
        told: Any = {"load": load, "control": control, "on_step": _mover(bar)}
        result = run_attack(attacker, threat, concept=looked_for, **told)
    _report(attacker.name, threat, result)
    _show(result, rows, show, show_texts)
    write_json(json, _record(attacker.name, attacker, threat, result))
    if save is not None:
        result.inverter.save(save)
        console().print(f"Fitted attack: {save}", highlight=False)


def _concept(concept: str | None, terms: Path | None, spans: str | None) -> Concept | None:
    """What --concept or --terms says; what --spans names is known when the texts have been read."""
    if sum(each is not None for each in (concept, terms, spans)) > 1:
        raise InputError("One thing is looked for: give one of --concept, --terms and --spans.")
    if concept is None and terms is None:
        return None
    return named_concepts([concept] if concept else None, [terms] if terms else None, None)[0]


def _refuse(attack: str | None, everything: bool, alone: list[str]) -> None:
    """Refuse options that do not go together."""
    if attack is not None:
        ATTACKS.entry(attack)  # a wrong name is refused before any file is read
    if (attack is None) != everything:
        raise InputError("Name an attack with --attack NAME, or run all that fit with --all.")
    if everything and alone:
        raise InputError(f"{alone[0]} is for one attack. Name it with --attack NAME in place of --all.")


def _record(name: str, attack: Attack, threat: ThreatModel, result: AttackResult) -> dict[str, Any]:
    return {
        "attack": name,
        "reads": attack.reads,
        "rows": result.trial.rows.tolist(),
        "recovered": result.recovered.rows,
        "scores": result.recovered.scores.tolist(),
        "figures": [figure.to_dict() for figure in result.figures],
        "control": None if result.control is None else result.control.to_dict(),
        "search": result.searched.search,
        "chosen": result.searched.chosen,
        "fitted_to": len(result.trial.learned),
        "settings": {key: _plain(getattr(attack, key)) for key in settings_of(type(attack))},
        "victim": None if threat.victim is None else threat.victim.guarantee.to_dict(),
    }
