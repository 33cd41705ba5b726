"""Made-up notes in which one secret goes by several names: what the search should find is known."""

from __future__ import annotations

import random

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")

MERGER = {
    "examples": ("Project Nightjar", "the merger"),
    "describe": "anything about our merger",
    "names": (
        "Project Nightjar", "the merger", "Nightjar", "the Helvex deal", "the tie-up with Helvex",
        "the acquisition of Helvex", "the takeover", "the combination with Helvex", "the transaction",
        "the Helvex purchase", "the bird project", "joining forces with Helvex",
    ),
    "said": (
        "Please do not mention {} outside this room.", "Counsel wants a new draft on {} by {d}.",
        "The board will vote on {} next {d}.", "We keep {} confidential until {d}.",
        "Our bankers asked about financing {}.", "Legal raised antitrust questions about {}.",
        "Staff must not trade shares before {} is announced.", "We need a press plan for {}.",
        "Due diligence for {} starts on {d}.",
    ),
    "other": (
        "The office move to floor {n} is planned for {d}.", "Payroll needs the timesheets by {d}.",
        "The summer party will be in the garden on {d}.", "Support closed {n} tickets about the printer.",
        "The new laptop order arrives on {d}.", "Project Sandstone ships its mobile app on {d}.",
        "Marketing wants a banner for the trade fair.", "The coffee machine in room {n} is broken again.",
        "Please submit travel expenses before {d}.", "The database migration took {n} hours.",
        "Hiring: {n} candidates for the engineering role.", "The quarterly newsletter needs photos.",
        "The heating on floor {n} will be repaired on {d}.", "Security training is due on {d}.",
        "Customer survey results improved by {n} points.", "The website redesign is late.",
        "Anna asked for a new chair and a desk lamp.", "The parking garage is closed on {d}.",
        "Our vendor raised prices for cloud storage.", "The invoice from the caterer is still open.",
    ),
}  # fmt: skip
"""What layers and threshold were chosen on."""

LAYOFFS = {
    "examples": ("Operation Fernwood", "the layoffs"),
    "describe": "anything about people losing their jobs",
    "names": (
        "Operation Fernwood", "the layoffs", "Fernwood", "the job cuts", "the redundancies",
        "the headcount reduction", "the Tolland closure", "the downsizing", "the dismissals",
        "the severance offers", "shutting Tolland", "the green folder plan",
    ),
    "said": (
        "Nobody on the ward may hear of {} before {d}.", "The union will ask about {} on {d}.",
        "Managers get a script on how to talk about {}.", "Finance counts on {} to save {n} million.",
        "The works council has to be told about {} first.", "We announce {} on {d} at noon.",
        "Keep the list for {} in the safe.", "A journalist called and wanted to know about {}.",
    ),
    "other": (
        "The lecture on kidney stones moves to {d}.", "Room {n} needs a new projector.",
        "The canteen serves vegetable soup on {d}.", "Students may return books until {d}.",
        "The laboratory ordered {n} boxes of gloves.", "The bicycle shed gets a new roof.",
        "Operation Sunrise paints the children's ward on {d}.", "The choir rehearses in the chapel on {d}.",
        "Visitors complained about the elevator {n} times.", "The pharmacy changed its opening hours.",
        "A grant for the imaging centre was approved.", "The night shift found a lost umbrella.",
        "Please label samples with the date and the room.", "The library bought {n} atlases of anatomy.",
        "The fire drill takes place on {d} morning.", "Professor Lindqvist speaks about malaria on {d}.",
    ),
}  # fmt: skip
"""What the figures in the documents were measured on: no layer or threshold was chosen on it."""


def notes(problem, seed=0, each=6, others=330):
    """Notes with every name of the secret several times among many that are about other things."""
    rng = random.Random(seed)

    def filled(patterns, name=""):
        said = rng.choice(patterns).format(name, d=rng.choice(DAYS), n=rng.randint(2, 90))
        return said[0].upper() + said[1:]

    made = [filled(problem["said"], name) for name in problem["names"] for _ in range(each)]
    made += [filled(problem["other"]) for _ in range(others)]
    made = [text + (" " + filled(problem["other"]) if rng.random() < 0.4 else "") for text in made]
    rng.shuffle(made)
    return made


def mentions(problem, texts):
    """Where the secret stands in each text: row, start, end and its name there; the longest name counts."""
    found = []
    for row, text in enumerate(texts):
        low, taken = text.lower(), []
        for name in sorted(problem["names"], key=len, reverse=True):
            start = low.find(name.lower())
            if start >= 0 and not any(a < start + len(name) and start < b for a, b in taken):
                taken.append((start, start + len(name)))
                found.append((row, start, start + len(name), name))
    return found


def figures(problem, texts, terms):
    """Names hit, of those that were not given, and the share of terms that stand for the secret alone.

    A name is hit when some confirmed term stands in its mentions. A term is right when nine in ten of its
    places are inside a mention.
    """
    from sfumato.concepts import Dictionary

    places = mentions(problem, texts)
    hidden = {name for *_, name in places} - set(problem["examples"])
    finder = Dictionary([*problem["examples"], *terms])
    found = [finder.find(text) for text in texts]
    hits = {
        (row, start)
        for row, start, end, _ in places
        if any(span.start < end and start < span.end for span in found[row])
    }
    names = {name for name in hidden if all((r, s) in hits for r, s, _, n in places if n == name)}
    right = sum(_is_right(term, texts, places) for term in terms)
    rows = [(row, start) for row, start, _, name in places if name in hidden]
    return {
        "names": len(names) / len(hidden),
        "mentions": sum(place in hits for place in rows) / len(rows),
        "precision": right / len(terms) if terms else 0.0,
    }


def _is_right(term, texts, places):
    from sfumato.concepts import Dictionary

    finder, inside, total = Dictionary([term]), 0, 0
    for row, text in enumerate(texts):
        for span in finder.find(text):
            total += 1
            inside += any(r == row and a <= span.start and span.end <= b for r, a, b, _ in places)
    return total > 0 and inside >= 0.9 * total
