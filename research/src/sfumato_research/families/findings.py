"""The sentences that are counted, each with its rule of research/protocol-families.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sfumato_research.families.beside import misses_beside, presence_beside, search_beside, sts_beside
from sfumato_research.families.judging import NOT_MEASURED, Judged, above, below, each_of, least, one_of
from sfumato_research.frontier.defences import ERASED, OTHER, OURS, REMOVED, WIDE
from sfumato_research.frontier.figures import Cuts
from sfumato_research.frontier.measure import CLEAN
from sfumato_research.frontier.tables import LEAST_USE, MOST_ABSOLUTE, NEAR_REMOVAL, USES

LAPLACE, SPARSE, DPPN = (f"{name}, noise ratio 1.4" for name in ("laplace", "sparse", "suppression"))
LEACE = "leace, terms erased"
GUESSED, NEARLY, LINKED, MEMBER = 0.10, 0.90, 0.95, 0.85


@dataclass(frozen=True, slots=True)
class Counted:
    """A sentence, and how a cell is asked about it."""

    name: str
    sentence: str
    judge: Callable[[Cuts], Judged]
    figure: str
    """What the figure in the tables is."""
    needs: Sequence[str] = (OURS,)
    """Releases without which nothing can be said."""

    def judged(self, cuts: Cuts) -> Judged:
        """What the cuts of one concept and encoder say about it."""
        there = set(cuts.labels)
        return self.judge(cuts) if there.issuperset((CLEAN, *self.needs)) else NOT_MEASURED


def _goal(cuts: Cuts, label: str) -> Judged:
    """Whether the goal is missed: too much leaks, or too little of one use is left."""
    every = cuts.terms(label)
    uses = [below(cuts.kept(label, name, touched=True), LEAST_USE) for name in USES]
    known = [each for each in uses if each.measured]
    return one_of([above(None if every is None else every.absolute, MOST_ABSOLUTE), *known])


def _masks(cuts: Cuts) -> Judged:
    found = (cuts.terms(label) for label in (SPARSE, DPPN))
    return each_of(least(None if each is None else each.excess, NEARLY) for each in found)


def _laplace(cuts: Cuts) -> Judged:
    every = cuts.terms(LAPLACE)
    hidden = least(None if every is None else every.absolute, 0.5)
    return each_of([hidden, below(cuts.kept(LAPLACE, "search", touched=True), 0.6, reached=True)])


def _rivals(cuts: Cuts) -> Judged:
    return each_of(least(cuts.informed(label), NEARLY) for label in (LEACE, SPARSE, DPPN))


def _released(cuts: Cuts) -> Sequence[str]:
    return [label for label in cuts.labels if label != CLEAN and cuts.has(label, "linked")]


FINDINGS = (
    Counted(
        "goal",
        "the default protector misses the goal (at most 25 % absolute at 95 % of use on touched rows)",
        lambda cuts: _goal(cuts, OURS),
        "what misses it: absolute leakage, or a use on touched rows",
    ),
    Counted(
        "goal-removal",
        "removal misses it, too",
        lambda cuts: _goal(cuts, REMOVED),
        "the same",
        (REMOVED,),
    ),
    Counted(
        "fewer",
        "the default names fewer terms than removal",
        lambda cuts: below(cuts.beside(OURS, REMOVED), 0, "+.1%"),
        "difference of the shares named",
        (OURS, REMOVED),
    ),
    Counted(
        "presence",
        "the default shows that something was there as plainly as clean vectors",
        lambda cuts: least(presence_beside(cuts, OURS, CLEAN), -NEAR_REMOVAL, "+.3f"),
        "difference of AUC to clean",
    ),
    Counted(
        "eraser",
        "with the eraser presence is within .05 of removal's",
        lambda cuts: below(presence_beside(cuts, ERASED, REMOVED), NEAR_REMOVAL, "+.3f", reached=True),
        "difference of AUC to removal",
        (ERASED, REMOVED),
    ),
    Counted(
        "misses",
        "where the detector misses a term, more leaks than where it finds all",
        lambda cuts: above(misses_beside(cuts, OURS), 0, "+.0%"),
        "absolute leakage, missed less found rows",
    ),
    Counted(
        "informed",
        "where the detector finds the term, the informed attacker guesses",
        lambda cuts: below(cuts.informed(OURS, found="all"), GUESSED, reached=True),
        "terms he names, found rows",
    ),
    Counted(
        "informed-rivals",
        "he names nearly all from LEACE, SPARSE and DPPN",
        _rivals,
        "terms he names, of the one that decides",
        (LEACE, SPARSE, DPPN),
    ),
    Counted(
        "masks",
        "SPARSE and DPPN leave nearly everything to a reader who practises",
        _masks,
        "excess, of the one that decides",
        (SPARSE, DPPN),
    ),
    Counted(
        "laplace",
        "Laplace of the same length hides less than half and costs search",
        _laplace,
        "absolute leakage, or search on touched rows",
        (LAPLACE,),
    ),
    Counted(
        "linkage",
        "which text it is remains plain, whatever the release",
        lambda cuts: each_of(least(cuts.linkage(label), LINKED) for label in _released(cuts)),
        "named among 1,000, of the release that decides",
        (),
    ),
    Counted(
        "member",
        "so does membership",
        lambda cuts: each_of(least(cuts.membership(label), MEMBER, ".3f") for label in _released(cuts)),
        "AUC, of the release that decides",
        (),
    ),
    Counted(
        "other",
        "another value keeps less of STS than the default",
        lambda cuts: below(sts_beside(cuts, OTHER, OURS), 0, "+.1%"),
        "difference of what is kept, touched pairs",
        (OTHER, OURS),
    ),
    Counted(
        "wide",
        "`--wide` names fewer terms than the default",
        lambda cuts: below(cuts.beside(WIDE, OURS), 0, "+.1%"),
        "difference of the shares named",
        (WIDE, OURS),
    ),
    Counted(
        "wide-cost",
        "and costs STS",
        lambda cuts: below(sts_beside(cuts, WIDE, OURS), 0, "+.1%"),
        "difference of what is kept, touched pairs",
        (WIDE, OURS),
    ),
    Counted(
        "search",
        "the default costs more of search than removal",
        lambda cuts: below(search_beside(cuts, OURS, REMOVED), 0, "+.1%"),
        "difference of what is kept, touched rows",
        (OURS, REMOVED),
    ),
    Counted(
        "two-thirds",
        "the default keeps two thirds of search",
        lambda cuts: least(cuts.kept(OURS, "search", touched=True), 2 / 3),
        "kept, touched rows",
    ),
)
"""In the protocol's order."""
