"""Measures cells of SPARSE and DPPN ahead, a group a process, so that many processes share the work.

    python -m sfumato_research.dppn.ahead GROUP --data DATA --cache CACHE [--device cuda] [--quick]
    python -m sfumato_research.dppn.ahead sparse:table1 --data DATA --cache CACHE -o RESULTS

The second line puts a part of a study together from the cells under CACHE/cells, and measures what is
missing, as `sfumato study` does. Without GROUP the groups are listed, the most important first.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import strftime

import typer

from sfumato_research.dppn import attacks, cases, categories, detection, functions, tradeoff
from sfumato_research.dppn.defences import levels
from sfumato_research.dppn.defences import measured as dppn_measured
from sfumato_research.dppn.printed import CATEGORIES
from sfumato_research.sparse import attacks as sparse_attacks
from sfumato_research.sparse import cases as sparse_cases
from sfumato_research.sparse import masks, variants
from sfumato_research.sparse import tradeoff as sparse_tradeoff
from sfumato_research.sparse.data import BOTH_WAYS, Finder, comparison
from sfumato_research.sparse.printed import CATEGORIES as SPARSE_CATEGORIES
from sfumato_research.studies import load_study
from sfumato_research.studies.base import Setting
from sfumato_research.studies.encoders import ENCODERS
from sfumato_research.studies.running import run_study

Group = Callable[[Setting], object]
OTHER_ENCODERS = tuple(each.name for each in ENCODERS if each.name != "minilm")


def _prepare(setting: Setting) -> None:
    """The level of noise, which every other group needs, and the vectors of the main sets."""
    setting.on_step(f"noise ratio {sparse_tradeoff.levels(setting, (10,))[10]:.4f}")
    if setting.quick:
        return
    comparison(setting, "fiqa")
    for name in BOTH_WAYS:
        comparison(setting, name, finder="ner")


def _both(setting: Setting, name: str, finder: Finder = "lists") -> None:
    sparse_tradeoff.sweep(setting, name, setting.pick((5, 10, 20, 40), (5, 10)), finder)
    tradeoff.sweep(setting, name, finder)


def _encoder(setting: Setting, model: str) -> None:
    if model not in variants.encoders():
        setting.on_step(f"{model} is not here")
        return
    variants.measure_encoder(setting, model)
    attacks.measure_encoder(setting, model)


def _sparse_category(setting: Setting, source: str, kind: str) -> None:
    ratio = sparse_tradeoff.levels(setting, (10,))[10]
    on = sparse_attacks.category_comparison(setting, source, kind)
    sparse_tradeoff.clean_of(on)
    for method in ("laplace", "sparse", "ours", "purkayastha"):
        setting.on_step(method)
        sparse_tradeoff.measured(on, method, 0.0 if method == "ours" else ratio)


def _dppn_categories(setting: Setting, source: str) -> None:
    ratio = sparse_tradeoff.levels(setting, (10,))[10]
    for kind in (category for from_, category in CATEGORIES if from_ == source):
        setting.on_step(f"DPPN, {source}, {kind}")
        on = categories.category_comparison(setting, source, kind)
        sparse_tradeoff.clean_of(on)
        for method in ("laplace", "dppn", "purkayastha"):
            dppn_measured(on, method, ratio)


def _writer(setting: Setting, name: str) -> None:
    """The weaker noise first, of both papers: it says more of an attack."""
    sparse_attacks.attack_row(setting, name, sparse_tradeoff.levels(setting, (10,)))
    attacks.attack_row(setting, name, levels(setting, (2,)))
    if not setting.quick:
        sparse_attacks.attack_row(setting, name, sparse_tradeoff.levels(setting, (5, 10)))
        attacks.attack_row(setting, name, levels(setting, attacks.EPSILONS))


def _notes(setting: Setting) -> None:
    sparse_cases.table12(setting)
    cases.table6(setting)


GROUPS: dict[str, Group] = {
    "prepare": _prepare,
    "sts12": partial(_both, name="sts12"),
    "fiqa": partial(_both, name="fiqa"),
    "sts12-ner": partial(_both, name="sts12", finder="ner"),
    "fiqa-ner": partial(_both, name="fiqa", finder="ner"),
    "mlc": lambda setting: attacks.attack_row(setting, "MLC", levels(setting, attacks.EPSILONS)),
    **{f"encoder-{model}": partial(_encoder, model=model) for model in OTHER_ENCODERS},
    **{f"set-{name}": partial(_both, name=name) for name in tradeoff.OTHERS},
    "dppn-PII": partial(_dppn_categories, source="PII"),
    "dppn-medical": partial(_dppn_categories, source="medical"),
    "dppn-STS12": partial(_dppn_categories, source="STS12"),
    **{
        f"sparse-{source}-{kind}": partial(_sparse_category, source=source, kind=kind)
        for source, kind in SPARSE_CATEGORIES
    },
    "functions": functions.table2,
    "white-box": masks.table4,
    "rewriting": variants.table9,
    "lambda": masks.table10,
    "figure4": detection.figures,
    "not-measured": attacks.measure_missing,
    "Vec2Text": partial(_writer, name="Vec2Text"),
    "GEIA": partial(_writer, name="GEIA"),
    "notes": _notes,
}
"""What can be measured by itself; the last four need a GPU."""


def main() -> None:
    """Measure one group, or run one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("group", nargs="?", help="a group, or STUDY:PART")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--output", "-o", type=Path, default=Path("results"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()

    def tell(step: str) -> None:
        typer.echo(f"{strftime('%H:%M:%S')} {given.group}: {step}")

    setting = Setting(given.data, given.quick, 0, given.device, given.cache, tell)
    if given.group is None:
        typer.echo("\n".join(GROUPS))
        return
    tell("begin")
    study, _, part = given.group.partition(":")
    if part:
        given.output.mkdir(parents=True, exist_ok=True)
        run_study(load_study(study), setting, given.output, only=[part], again=True)
    else:
        GROUPS[given.group](setting)
    tell("done")


if __name__ == "__main__":
    main()
