"""Ordinary sentences made from the project's own words: public text to measure an encoder's spread on.

A template names slots in braces: `{who}`, `{what}`, `{about}`, `{how}` and `{where}` come from one topic,
`{do}`, `{does}`, `{did}`, `{done}` and `{doing}` are forms of what its actors do, a final s makes a plural,
and a leading + takes the word from a second topic. The other slots are filled from lists without a topic.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from sfumato.concepts.detectors.dictionary import listed
from sfumato.concepts.lists import medical, organisations, people, places
from sfumato.numbers import whole_number
from sfumato.randomness import generator
from sfumato_research.vocabulary import TOPICS, Topic

T = TypeVar("T")


def _templates(text: str) -> tuple[str, ...]:
    return tuple(" ".join(part.split()) for part in text.split("|"))


def _forms(text: str) -> dict[str, list[str]]:
    return {base: forms for base, *forms in map(str.split, listed(text))}


_STATEMENTS = _templates("""
the {who} {did} {where} | a {who} {did} {when} | the {whos} {did} and {did} | my {who} always {does} {where} |
nobody expected the {who} to {do} | a {how} {what} stood {where} | we saw a {who} who {did} | it was the {who}
who {did} | the {who} has {done} {many} times | {person} {did} {when} | there were {number} {whats} {where} |
the {what} belongs to the {who} | {about} is a matter of {about} | {about} matters more than {about} | most
{whos} know little about {about} | {person}, a {who}, {did} {where} | some {whos} {do} because of {about} |
the {who} did not {do} | a {what} costs about {number} dollars | the {who} wanted to {do} but {did} | I have
never {done} | there is too much {about} and not enough {about} | the old {what} was replaced by a {how} one |
{person} gave the {who} a {what} | they talked about {about} {where} | she is a {who} and he is a {+who} | we
need a {what}, a {what} and a {what} | the {who} {did} with {person} in {city} | few people in {country} {do}
| the {what} arrived from {city} {when} | {person} lives in {city} and works as a {who} | it takes {number}
days to {do} | a {who} without a {what} is like a {+who} without a {+what} | he used to be a {who} in
{country}
""")

_CAPTIONS = _templates("""
a {who} is {doing} | two {whos} are {doing} | a {who} {doing} {where} | a {how} {what} | a {what} and a {what}
| {whos} {doing} {where} | the {who} is not {doing} | a {what} next to a {what} {where} | a {who} and a {+who}
are {doing} | close-up of a {how} {what} | {number} {whats} {where} | someone is {doing} | a {who} in a
{colour} shirt is {doing} | a {colour} {what} | a {who} holding a {what} | a {what} is lying {where} | a {who}
is looking at a {what} | there is no {who} {doing}
""")

_HEADLINES = _templates("""
{who} {does} {where} | {whos} {do} despite {about} | {city}: {who} {does} | {number} {whats} missing {where} |
{how} {what} found in {city} | {country} {whos} {do} | {org} opens a {what} | {org} worries about {about} |
why {whos} {do} | {who} accused of {doing} | new {what} for {city} | {about} fears grow in {country} |
{about}: {number} things to know | {country} bans {whats} | {who}, {number}, {does} | {whos} divided over
{about} | the end of {about}? | {org} unveils {how} {what} | {person} says {whos} must {do} | {percent} of
{whos} {do}, survey finds
""")

_QUESTIONS = _templates("""
how do I {do}? | why does a {who} {do}? | what is the difference between a {what} and a {what}? | who invented
the {what}? | can a {who} {do} {where}? | what is the best way to {do}? | when did the {who} {do}? | is
{about} the same as {about}? | how many {whats} are there in {country}? | should I {do} or {do}? | what causes
{about}? | where can I find a {how} {what}? | what does it mean when a {who} {does}? | how much does a {what}
cost in {city}? | have you ever {done}? | did you {do}? | which {what} is the most {how}? | what happens if a
{who} {does}? | why is {about} so important to {whos}? | which country has the most {whats}? | how long does
it take to become a {who}? | what are the advantages of {about}? | do {whos} really {do}? | what would you do
if the {who} {did}? | who was the first {who} to {do}? | what is a {what} made of? | how does a {what} work? |
are there any {whos} in {city} who {do}? | what is {about}? | how can {whos} avoid {about}? | could you tell
me where the {what} is? | what do you call a {who} who {does}? | why can't I {do} {where}? | is there a {what}
for {about}? | what does {org} do about {about}?
""")

_INSTRUCTIONS = _templates("""
{do} before you {do} | never {do} {where} | please {do} | first {do}, then {do} | do not {do} without a {what}
| {do} {when} | remember to {do} | use a {how} {what} to {do} | to {do}, take the {what} and {do} | ask a
{who} before you {do} | keep the {what} away from {about} | put the {what} beside the {what} | if you see a
{who}, {do} | make sure that the {what} is {how} | you should {do} at least {number} times | avoid {about}
when you {do} | bring a {what} and a {what} | let the {who} {do} | check the {what} for {about} | try not to
{do} | all {whos} must {do} | call a {who} if the {what} looks {how}
""")

_DEFINITIONS = _templates("""
a {who} is a person who {does} | a {what} is something {whos} use to {do} | {about} is what {whos} study
{where} | the act of {doing} | a {how} kind of {what} | {about} means that {whos} {do} | to {do} | being {how}
| the {what} is a part of the {what} | a {what} is often {how} and sometimes {how} | {about} is a form of
{about} | someone whose job is to {do} | the study of {about} and {about} | not {how} | a place where {whos}
{do} | the word {what} comes from {country} | a {what} used for {about} | the quality of being {how} | related
to {about} | unlike a {what}, a {what} is {how} | {about} was first described in {country} | {doing} is called
{about}
""")

_OPINIONS = _templates("""
I love {doing} {where} | in my view {whos} should {do} | I hate {about} | not a {how} {what}, but a good one |
the best {what} I have ever seen | I would not recommend the {what} | {about} is overrated | the {who}
deserves better | more {about} would help | they should have {done} | the {what} works well, though it is a
bit {how} | this {what} is a waste of money | I bought this {what} and it broke {when} | I prefer {about} to
{about} | {about} makes me {feeling} | never again a {what} from {org} | nothing beats {about} {where} |
everyone should {do} once | I am {feeling} that the {who} {did} | the {what} is too {how} for {whos} |
frankly, the {who} was {feeling} and the {what} was {how} | I'd rather {do} than {do}
""")

_REPORTS = _templates("""
{whos} in {city} {did} {when}, officials said | {org} said it would buy a {what} {when} | the {who} told
reporters that {whos} {did} | {person}, a {who}, said: "we {do} every day" | the number of {whats}
rose by {percent} {when} | {org} paid {money} for a {what} | according to {person}, {about} is a serious
problem in {country} | at least {number} {whos} {did} {where} | prices of {whats} fell {percent} in {country}
| a study of {number} {whos} found that {about} leads to {about} | {person} joined {org} as a {who} {when} |
the {what} was sold for {money} to a {who} | police in {city} said a {who} {did} | the {who} is expected to
{do} {when} | a spokesman for {org} refused to comment on {about} | the government of {country} will spend
{money} on {about} | a {number}-year-old {who} {did} {where} | critics say {about} hurts {whos} | shares of
{org} fell {percent} because of {about} | {person}, who {did} in {city}, became a {who} | experts warned of
{about} in {city} | results showed that {whats} with {about} were {percent} more {how} | we propose a {how}
{what} for {about} | {about} was observed in {percent} of {whats}
""")

_NOTES = _templates("""
the patient has {symptom} and {symptom} | no history of {disease} | {person} was treated for {disease} with
{drug} | {drug} may cause {symptom} | a {who} with {disease} {did} {when} | take {drug} for {disease} {when} |
thanks for the {what}, {person} | meeting with {person} about {about} {when} | dear {person}, the {what} is
{how} | {number} {whats}, {number} {whats}, some {about} | to do: {do} | the tenant shall {do} | under section
{number}, {whos} may not {do} | error: {what} not found | {what}: {how} | chapter {number}: {about} | sorry, I
could not {do} {when} | see you {where} | tip: {do} | lost {where}: a {colour} {what} | {about} in {country}
""")

_LONG = _templates("""
although the {who} {did}, the {whos} {did} {where} | when {person} {did}, nobody knew that a {who} had {done}
| if {whos} {do}, a {who} will {do} | the {what} that the {who} bought {when} was {how}, so {person} {did} |
because {about} was rare, {whos} {did} and {did} | after {doing} for {number} years, {person} became a {who}
in {city} and {did} | {person} hoped to {do}, but the {what} was too {how} | while a {who} was {doing}
{where}, a {+who} {did} | the more {whos} {do}, the less they care about {about} | having {done}, the {who}
went to {city} to {do} | not only did the {who} {do}, the {whos} also {did} | as soon as the {what} was {how},
the {whos} started {doing} | the {who}, who had {done} before, decided to {do} | it is hard to say whether
{about} or {about} made the {who} {do} | unless someone {does}, the {what} will stay {how} | {about} spread
until {whos} {did} | the {who} explained that {about} depends on {about}, not on {about} | once a {who} has
{done}, it is difficult to {do} | before {doing}, look at the {what} | the {what} is {how}, yet {whos} still
{do} | {person} said that {about} in {country} had changed since the {who} {did} | either the {who} {does} or
the {who} {does}
""")

_OPENERS = _templates("""
{when}, | in {city}, | surprisingly, | as usual, | for example, | of course | despite {about}, | according to
the {who}, | thanks to {about}, | for most {whos}, | without a {what}, | last year | in {country}, |
meanwhile, | on the other hand, | to be honest, | like any {who}, | before the {what}, | in fact, |
fortunately, | years later, | some say that | it turned out that | I heard that | we all know that | the {who}
claims that | given {about},
""")

_TAILS = _templates("""
because of {about} | to {do} | without {doing} | and {did} | {when} | in {city} | , which surprised the {who}
| , but the {what} was {how} | for {number} years | in order to {do} | , {person} said | , he said | even
though {whos} {do} | like a {+who} | with a {how} {what} | instead of {doing} | so that {whos} could {do} |
until the {what} was {how} | , and nobody noticed | for the sake of {about} | as if nothing had happened |
again and again | , at least {where} | , I think
""")

# Some take a clause before or after, others often end without a full stop.
_EXTENDED = (_STATEMENTS, _REPORTS, _LONG)
_LABELS = (_CAPTIONS, _HEADLINES, _DEFINITIONS, _NOTES)
_GENRES = (*_EXTENDED, *_LABELS, _QUESTIONS, _INSTRUCTIONS, _OPINIONS)

_ARTICLE = r"^(?=Un|U\.|U[SK]|Netherl|Philipp|UAE|Sov|Russian|Maldi|Baha|Gamb|Como|DRC|.* (Rep|Isl|King))"
_LISTS = {
    "when": listed("""
yesterday; on Monday; last week; in the morning; at midnight; every Sunday; in winter; after lunch; in 1987;
in May; before dawn; on Friday evening; in April; for the first time; at the weekend; twice a month; in 2015;
at once
"""),
    "many": listed("three; many; several; countless; a few; four; a dozen"),
    "feeling": listed("angry; glad; nervous; tired; proud; sad; bored; confused; surprised; hopeful; afraid"),
    "colour": listed("red; blue; green; yellow; black; white; grey; orange; purple; brown; pink; golden"),
    "city": places.CITIES,
    "country": tuple(re.sub(_ARTICLE, "the ", name) for name in places.COUNTRIES),
    "org": organisations.ORGANISATIONS,
    "disease": medical.DISEASES,
    "symptom": medical.SYMPTOMS,
    "drug": medical.DRUGS,
}

# The past, and the participle where it differs.
_IRREGULAR = _forms("""
beat beat beaten; bet bet; bind bound; blow blew blown; break broke broken; build built; buy bought; cast
cast; catch caught; cut cut; dig dug; draw drew drawn; drink drank drunk; eat ate eaten; fall fell fallen;
feed fed; find found; flee fled; fly flew flown; forget forgot forgotten; forgive forgave forgiven; freeze
froze frozen; get got; give gave given; go went gone; grow grew grown; hang hung; hide hid hidden; hold held;
keep kept; kneel knelt; lay laid; lead led; leave left; let let; lie lay lain; light lit; lose lost; pay paid;
put put; overcome overcame overcome; overtake overtook overtaken; quit quit; read read; reset reset; ride rode
ridden; run ran run; sell sold; send sent; set set; shoot shot; shut shut; sing sang sung; sink sank sunk; sit
sat; sleep slept; split split; stand stood; swim swam swum; take took taken; tell told; throw threw thrown;
wear wore worn; win won; withdraw withdrew withdrawn; write wrote written
""")
_DOUBLED = listed("""
admit; ban; bet; cancel; chop; clap; cut; dig; drop; expel; forget; get; grip; hug; kidnap; label; let; plot;
put; quit; reset; rob; run; set; shut; sit; skip; slip; split; stab; stir; stop; swim; tag; transfer; wag;
win; wrap
""")
_PLURALS = _forms("""
aircraft aircraft; bacterium bacteria; child children; deer deer; dice dice; fisherman fishermen; fungus
fungi; goldfish goldfish; jellyfish jellyfish; quiz quizzes; gunman gunmen; hypothesis hypotheses; knife
knives; loaf loaves; man men; matrix matrices; midwife midwives; mouse mice; person people; potato potatoes;
salmon salmon; sheep sheep; shelf shelves; series series; species species; thesis theses; thief thieves;
tomato tomatoes; tooth teeth; volcano volcanoes; wife wives; wolf wolves; woman women
""")


def ordinary_sentences(count: int, seed: int = 0) -> list[str]:
    """Return `count` made-up everyday sentences; the same seed gives the same ones."""
    whole_number(count, "count", 0, 10**8)
    writer = _SentenceWriter(generator(whole_number(seed, "seed", 0, 2**63 - 1)))
    return [writer.sentence() for _ in range(count)]


class _SentenceWriter:
    """Fills templates with words drawn from one generator."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._used: set[str] = set()

    def sentence(self) -> str:
        genre = self._pick(_GENRES)
        template = self._pick(genre)
        if genre in _EXTENDED:
            opener, tail = (self._rng.random() < 0.3 for _ in range(2))
            template = f"{self._pick(_OPENERS)} {template}" if opener else template
            template = f"{template} {self._pick(_TAILS)}" if tail else template
        self._used.clear()
        topic, other = self._pick(TOPICS), self._pick(TOPICS)
        text = _SLOT.sub(lambda slot: self._word(slot[2], other if slot[1] else topic), template)
        stop = "" if genre in _LABELS and self._rng.random() < 0.6 else "."
        return _polished(text, stop)

    def _pick(self, choices: Sequence[T]) -> T:
        return choices[int(self._rng.integers(len(choices)))]

    def _fresh(self, words: Sequence[str]) -> str:
        """A word that this sentence does not hold yet, where there is one."""
        word = next((word for word in map(self._pick, [words] * 9) if word not in self._used), words[0])
        self._used.add(word)
        return word

    def _word(self, slot: str, topic: Topic) -> str:
        if slot in _FORMS:
            verb, _, rest = self._fresh(topic.acts).partition(" ")
            return f"{_FORMS[slot](verb)} {rest}"
        if slot in ("whos", "whats"):
            return _plural(self._fresh(topic.who if slot == "whos" else topic.what))
        if slot in Topic._fields or slot in _LISTS:
            return self._fresh(_LISTS.get(slot) or getattr(topic, slot))
        if slot == "person":
            first, last = self._pick(people.FIRST_NAMES), self._pick(people.SURNAMES)
            return f"{first} {last}" if self._rng.random() < 0.5 else first
        unit = {"number": "", "percent": " percent", "money": " million dollars"}[slot]
        return f"{self._rng.integers(2, 100)}{unit}"


def _regular(verb: str) -> str:
    stem = verb + verb[-1] if verb in _DOUBLED else re.sub(r"(?<![aeiou])y$", "i", verb)
    return stem.removesuffix("e") + "ed"


def _gerund(verb: str) -> str:
    silent = re.sub(r"(?<=[^e])e$", "", re.sub("ie$", "ye", verb))
    return (verb + verb[-1] if verb in _DOUBLED else silent) + "ing"


def _third(verb: str) -> str:
    verb = re.sub(r"(?<![aeiou])y$", "ie", verb)
    return verb + ("es" if re.search(r"(s|x|z|ch|sh|o)$", verb) else "s")


def _plural(noun: str) -> str:
    head, joint, rest = map(str, re.split("( of | in |$)", noun, maxsplit=1))
    before, space, last = head.rpartition(" ")
    regular = last + "s" if last.endswith("o") else _third(last)
    return before + space + _PLURALS.get(last, [regular])[0] + joint + rest


_FORMS: Mapping[str, Callable[[str], str]] = {
    "do": str,
    "does": _third,
    "did": lambda verb: _IRREGULAR.get(verb, [_regular(verb)])[0],
    "done": lambda verb: _IRREGULAR.get(verb, [_regular(verb)])[-1],
    "doing": _gerund,
}
_SLOT = re.compile(r"\{(\+?)(\w+)\}")
_VOWEL = re.compile(r"\b([Aa]) (?=[aeioAEIO]|u(?!ni[ftv]|nion|se)|x-|8|1[18]\b|hon|[FHLMNRSX][A-Z])")


def _polished(text: str, stop: str) -> str:
    """Mend articles and the space before commas, and end the sentence."""
    text = _VOWEL.sub(r"\1n ", text.replace(" ,", ","))
    text = text[:1].upper() + text[1:]
    return text if text[-1] in ".?!" else text + stop
