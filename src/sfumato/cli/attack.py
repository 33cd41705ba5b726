"""`sfumato attack`: run one attack and show what it recovers."""

from __future__ import annotations

import json as json_format
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape
from rich.progress import Progress

from sfumato.artifacts import require_free
from sfumato.attacks.base import Attack, OnStep
from sfumato.cli.options.attack import (
    AttackOption,
    BeamOption,
    ConceptOption,
    ControlOption,
    EmbedderOption,
    EmbeddingsOption,
    EpsilonOption,
    ForceOption,
    LimitOption,
    LoadOption,
    MechanismOption,
    NoiseRatioOption,
    ProtectorOption,
    SaveOption,
    SeedOption,
    SettingOption,
    ShowOption,
    ShowTextsOption,
    StepsOption,
    TermsOption,
    TrainOption,
)
from sfumato.cli.options.shared import AllowRemoteOption, InputFile, named_concepts, plain_kind
from sfumato.cli.output import JsonOption, console, progress, write_json
from sfumato.embedders import load_embedder
from sfumato.errors import InputError
from sfumato.evaluation.calibrate import scaled
from sfumato.evaluation.defence import Defence
from sfumato.inputs import read
from sfumato.mechanisms import Mechanism
from sfumato.metrics.intervals import Figure
from sfumato.numbers import whole_number
from sfumato.protector import Protector
from sfumato.saving import load_protector
from sfumato.trials.making import make_attack, settings_of
from sfumato.trials.running import AttackResult, run_attack
from sfumato.trials.threat import ThreatModel

NAME = "attack"
EXAMPLE = (
    "Examples: sfumato attack notes.jsonl --attack tokens --concept location --protector places  |  "
    "sfumato attack vectors.npy --attack minilm --json read.json"
)
DEFAULT_EMBEDDER = "minilm"
_LIMIT = 20_000


@dataclass(frozen=True, slots=True)
class _Rows:
    texts: list[str] | None
    vectors: Any
    showable: list[bool]


def _read(path: Path, limit: int) -> _Rows:
    """The first rows of a file: texts, vectors, and which of them may be shown."""
    texts: list[str] = []
    vectors: list[Any] = []
    showable: list[bool] = []
    for batch in read(path):
        texts += batch.texts or []
        vectors += [] if batch.vectors is None else [batch.vectors]
        showable += [value is True for value in batch.columns.get("showable", [False] * len(batch))]
        if len(showable) >= limit:
            break
    rows = np.concatenate(vectors)[:limit] if vectors else None
    return _Rows(texts[:limit] or None, rows, showable[:limit])


def _protector(
    path: Path | None, mechanism: str | None, epsilon: float | None, ratio: float | None,
    allow_remote: list[str] | None,
) -> Protector | None:  # fmt: skip
    """The protector that was named, after checking that the options go together."""
    if path is not None and mechanism is not None:
        raise InputError("Give either --protector DIR or --mechanism NAME.")
    if epsilon is not None and ratio is not None:
        raise InputError("Give one of --epsilon and --noise-ratio. Found both.")
    if path is None:
        if mechanism is None and (epsilon is not None or ratio is not None):
            raise InputError("--epsilon and --noise-ratio set a mechanism's noise: add --mechanism NAME.")
        return None
    made = load_protector(path, allow_remote=allow_remote or ())
    return made if epsilon is None and ratio is None else scaled(made, epsilon=epsilon, noise_ratio=ratio)


def _or_epsilon(kind: type[Mechanism]) -> str:
    return ", or --epsilon E" if kind.strength == "epsilon" else ", because no epsilon sets it"


def _mechanism(name: str | None, epsilon: float | None, ratio: float | None, dim: int) -> Mechanism | None:
    if name is None:
        return None
    kind: Any = plain_kind(name)
    if not kind.noisy:
        return kind()  # type: ignore[no-any-return]
    if ratio is not None:
        return kind.from_noise_ratio(ratio, dim=dim)  # type: ignore[no-any-return]
    if epsilon is None or kind.strength != "epsilon":
        raise InputError(f"Say how much noise {name} adds: --noise-ratio R{_or_epsilon(kind)}.")
    return kind(epsilon=epsilon)  # type: ignore[no-any-return]


def _encoder(made: Protector | None, named: str | None, needed: bool) -> Any:
    """The victim's encoder: named, the protector's own, or the default where texts have to be embedded."""
    if named is not None:
        return load_embedder(named)
    if made is not None and made.embedder is not None:
        return made.encoder
    return load_embedder(DEFAULT_EMBEDDER) if needed else None


def _settings(values: list[str] | None) -> dict[str, Any]:
    """What --set says: NAME=VALUE, the value as JSON or else as it is written."""
    found: dict[str, Any] = {}
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


def _show(result: AttackResult, rows: _Rows, count: int, everything: bool) -> None:
    """Print recovered beside true, for rows that may be shown and no other."""
    screen, shown = console(), 0
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
    attack: AttackOption,
    train: TrainOption = None,
    embeddings: EmbeddingsOption = None,
    protector: ProtectorOption = None,
    mechanism: MechanismOption = None,
    epsilon: EpsilonOption = None,
    noise_ratio: NoiseRatioOption = None,
    embedder: EmbedderOption = None,
    allow_remote: AllowRemoteOption = None,
    concept: ConceptOption = None,
    terms: TermsOption = None,
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
    """Run one attack on vectors that are yours, or that you may test, and say what it recovers."""
    most = whole_number(limit, "--limit", 1, 10**9)
    if save is not None:
        require_free(save, replace=force)
    made = _protector(protector, mechanism, epsilon, noise_ratio, allow_remote)
    looked_for = named_concepts([concept] if concept else None, [terms] if terms else None, None)[0] \
        if concept or terms else None  # fmt: skip
    rows = _read(source, most)
    own = None if train is None else _read(train, most)
    if own is not None and own.texts is None:
        raise InputError(f"{train} holds no texts. The attacker learns from texts.")
    released = None if embeddings is None else _read(embeddings, most).vectors
    threat = _threat(rows, released, own, made, (mechanism, epsilon, noise_ratio), embedder, seed)
    asked = {key: value for key, value in (("steps", steps), ("beam", beam)) if value is not None}
    offered = {
        "seed": seed,
        "embedder": threat.embedder,
        "concept": looked_for,
        "vocabulary": looked_for,
        "control": False,  # measured on the same rows, for every attack alike
    }
    attacker = make_attack(attack, {**asked, **_settings(setting)}, offered)
    with progress("setting up", 100) as bar:
        result = run_attack(
            attacker, threat, concept=looked_for, load=load, control=control, on_step=_mover(bar)
        )
    _report(attack, threat, result)
    if show:
        _show(result, rows, show, show_texts)
    if save is not None:
        result.inverter.save(save)
        console().print(f"Fitted attack: {save}", highlight=False)
    write_json(json, _record(attack, attacker, threat, result))


def _threat(
    rows: _Rows,
    released: Any,
    own: _Rows | None,
    made: Protector | None,
    noise: tuple[str | None, float | None, float | None],
    named: str | None,
    seed: int,
) -> ThreatModel:
    given = [each for each in (released, rows.vectors) if each is not None]
    encoder = _encoder(made, named, needed=not given or (own is not None and own.vectors is None))
    plain = None if made else _mechanism(*noise, given[0].shape[1] if given else encoder.dim)
    vectors, defence = rows.vectors, None
    if made is not None:
        defence = Defence.from_protector(made if encoder is None else replace(made, embedder=encoder))
    elif plain is not None:
        defence = Defence(name=plain.name, mechanism=plain, embedder=encoder)
    elif released is None:  # nobody says what these went through: they are read as they are
        released, vectors = vectors, None
    if made is not None and rows.texts is not None and encoder is not None:
        vectors = None  # as `sfumato protect` does, texts are embedded anew
    return ThreatModel(
        texts=rows.texts,
        vectors=vectors,
        released=released,
        defence=defence,
        embedder=encoder,
        own_texts=None if own is None else own.texts,
        own_vectors=None if own is None else own.vectors,
        seed=seed,
    )


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
