"""The shapes `Patterns` knows: expressions whose group `x` is the sensitive part, and what checks them.

Every repetition is bounded or starts at a fixed place, so that no text takes longer than its length warrants.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sfumato.concepts.detectors import checks

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip

_MONTH = (
    r"(?i:jan(?:uary|\.)?|feb(?:ruary|\.)?|mar(?:ch|\.)?|apr(?:il|\.)?|may|jun(?:e|\.)?|jul(?:y|\.)?|aug(?:ust|\.)?"
    r"|sept?(?:ember|\.)?|oct(?:ober|\.)?|nov(?:ember|\.)?|dec(?:ember|\.)?)(?![a-z])"
)
_WEEKDAY = r"(?i:(?:mon|tues|wednes|thurs|fri|satur|sun)days?)"
_SMALL = (
    r"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen"
    r"|seventeen|eighteen|nineteen"
)
_TENS = r"twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_SPELLED = rf"(?i:(?:{_TENS})(?:[- ](?:{_SMALL}))?|{_SMALL})"
_UNIT = r"(?i:year|yr|month|week|day)"
_NTH = r"(?:st|nd|rd|th)"
_YEAR = r"(?:1[89]|20)\d\d"
_STREET = (
    r"(?:Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Drive|Dr|Lane|Ln|Court|Ct|Place|Pl|Square|Sq|Terrace|Way"
    r"|Parkway|Pkwy|Highway|Hwy|Circle|Cir|Close|Crescent|Row|Alley|Trail|Plaza|Route|Isle|Islands?|Forges?"
    r"|Meadows?|Village|Mews|Ridges?|Manors?|Fields?|Glens?|Groves?|Heights|Hills?|Knolls?|Path|Point|Run)"
)
# In lower case the words before "road" have to look like a name: not "5 minutes down the road".
_SMALL_STREET = r"(?:street|avenue|road|boulevard|drive|lane|court|terrace|parkway|square)"
_NOT_STREET = (
    r"(?:the|an|of|on|in|to|from|down|up|off|by|at|for|and|or|more|new|per|minutes?|hours?|days?|years?"
    r"|miles?|km)"
)
# Streets of other languages: the word before the name, or grown together with it.
_ROAD = r"(?:Rue|Avenue|Av\.?|Avenida|Via|Viale|Calle|Rua|Piazza|Plaza|Place|Boulevard|Chemin|Ulica|ul\.)"
_BUILT_STREET = (
    r"(?:straat|laan|plein|kade|gade|vej|gatan|gata|vegen|veien|gasse|allee|platz|stra(?:ss|ß)e|str\.)"
)
_COMPANY = (
    r"(?:Inc|Corp|Corporation|Ltd|Limited|LLC|LLP|PLC|plc|GmbH|AG|S\.A|SA|SE|NV|B\.V|Pty|Co|Company|Group"
    r"|Holdings|Bank|University|College|Institute|Hospital|Clinic|Foundation|Association|Agency|Ministry"
    r"|Insurance|Industries|Airlines|Partners|School|Church|Party|Union|Society|Council|Committee|Museum)"
)
_ID_WORD = (
    r"(?:account|acct|policy|claim|case|ticket|order|invoice|transaction|reference|ref|customer|client|member"
    r"|employee|student|passport|licen[cs]e|plate|vin|tax|nip|pesel|serial|tracking|booking|confirmation|badge"
    r"|insurance|registration|routing|docket|file|id|identifier)"
)
_ID_NUMBER = r"(?:[ _-](?:number|num|no|nr|id|code))?\.?"
_DOMAIN = r"(?:com|org|net|edu|gov|mil|io|info|biz|co\.uk|de|fr|it|eu|pl|au)"
_EXTENSION = r"(?: ?(?:x|ext\.?) ?\d{1,6})?(?!\w)"
_CAPITAL = r"[A-Z][\w'’-]{0,30}"
_CAPITALS = rf"{_CAPITAL}(?: {_CAPITAL}){{0,3}}(?:,? \d{{1,5}}\b)?"


class Form(NamedTuple):
    """One expression, and the check that what it found has to pass."""

    expression: str
    check: Callable[[str], bool] | None = None


# From the particular to the general: of two kinds that find the same stretch the first one names it.
SHAPES: dict[str, tuple[Form, ...]] = {
    "email": (Form(r"(?<![\w.+%-])[\w.+%'-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}\b"),),
    "url": (
        Form(r"(?i)\b(?:https?://|ftp://|www\.)[^\s<>\"']{1,2000}[\w/]"),
        Form(rf"(?i)(?<![\w.@-])(?:[a-z0-9-]{{2,63}}\.){{1,4}}{_DOMAIN}\b(?!@)(?:/[^\s<>\"']{{0,500}}[\w/])?"),
    ),
    "ip": (
        Form(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d)", checks.ip),
        Form(r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?![\w:])", checks.ip),
    ),
    "card": (
        Form(r"(?<![\w-])(?:\d{13,19}|\d{4}([ -])\d{4,6}\1\d{4,5}(?:\1\d{1,7})?)(?![\w-])", checks.luhn),
    ),
    "iban": (
        Form(r"(?i)\b[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){2,7}(?: ?[a-z0-9]{1,3})?\b", checks.iban),
    ),
    "ssn": (Form(r"(?<![\w-])(?!000|666|9)\d{3}([- ])(?!00)\d{2}\1(?!0000)\d{4}(?![\w-])"),),
    "record": (
        Form(
            r"(?i)\b(?:mrn|medical record|patient id|patient|hospital|chart|health card)"
            r"(?: (?:number|no|num|id))?\.? ?[:#] ?#?(?P<x>[a-z]{0,4}-?\d[\da-z-]{2,20})",
            checks.code,
        ),
        Form(r"(?i)\bmrn (?P<x>[a-z]{0,4}-?\d[\da-z-]{2,20})", checks.code),
    ),
    "date": (
        Form(
            r"(?<![\w/.-])\d{4}([-/.])\d{1,2}\1\d{1,2}(?:[T ]\d{2}:\d{2}(?::\d{2})?Z?)?(?![\w/-]|\.\d)",
            checks.day,
        ),
        Form(r"(?<![\w/.-])\d{1,2}([-/.])\d{1,2}\1(?:\d{4}|\d{2})(?![\w/-]|\.\d)", checks.day),
        Form(rf"\b\d{{1,2}}{_NTH}?(?: of|-)?[ -]{_MONTH}(?:,?[ -]\d{{2,4}}\b)?"),
        Form(rf"\b{_MONTH}[ -]\d{{1,2}}{_NTH}?(?!\d)(?:,? {_YEAR}\b)?"),
        Form(rf"\b{_MONTH}(?: of|,)? {_YEAR}\b"),
        Form(rf"\b{_WEEKDAY}\b"),
        Form(r"(?<![\w.,$€£#+/-])(?:19\d\d|20[0-4]\d)(?![\w%]|[.,]\d|-\d{3})"),
        Form(rf"(?i)\b(?:spring|summer|autumn|fall|winter)(?: of)? {_YEAR}\b"),
        Form(rf"(?i)\bin (?:\d{{1,3}}|a|an|{_SPELLED}) (?:day|week|month|year)s?\b"),
        Form(r"\b(?:1[89]|20)\d0s\b|'\d0s\b"),
        Form(r"(?i)\b(?:today|yesterday|tomorrow|tonight)\b"),
        Form(rf"(?i)\b(?:last|next|this) (?:week(?:end)?|month|year|night|{_WEEKDAY})\b"),
        Form(rf"(?i)\b(?:\d{{1,3}}|a|{_SPELLED}) (?:day|week|month|year)s? (?:ago|earlier|later)\b"),
    ),
    "time": (
        Form(r"(?i)\b\d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]\.?m\b\.?)?"),
        Form(r"(?i)\b\d{1,2} ?[ap]\.?m\b"),
    ),
    "age": (
        Form(rf"\b(?:\d{{1,3}}|{_SPELLED})[- ]?{_UNIT}s?[- ](?i:old)\b"),
        Form(r"(?i)\b\d{1,3} ?(?:y/o|yo|y\.o\.|yrs?)(?!\w)"),
        Form(rf"(?i)\b(?:\d{{1,3}}|{_SPELLED})(?= years of age\b)"),
        Form(rf"(?i)\b(?:aged?|age of|age is|turned)[: ] ?(?P<x>\d{{1,3}}|{_SPELLED})\b(?!\.\d)"),
        Form(
            r"(?i)\bin (?:his|her|their|my|your) (?:early |mid[- ]|late )?"
            rf"(?P<x>[1-9]0s|teens|{_TENS.replace('ty', 'ties')})\b"
        ),
    ),
    "phone": (
        Form(
            rf"(?<![\w+])(?:\+ ?|00)\d{{1,3}}(?:[ ./-]{{0,2}}\(?\d{{1,5}}\)?){{2,6}}{_EXTENSION}",
            checks.phone,
        ),
        Form(
            r"(?<![\w.-])(?:0{0,2}1[ .-])?(?:\(\d{3,5}\) ?|\d{3}[ .-])\d{3}[ .-]?\d{4}"
            rf"{_EXTENSION}",
            checks.phone,
        ),
        Form(
            r"(?<![\w.-])(?:\(\d{2,5}\)|0\d{1,4})[ -]\d{2,4}[ -]?\d{2,4}(?:[ -]?\d{2,4})?(?!\w|-\d)",
            checks.phone,
        ),
        Form(r"(?<![\w.-])\d{2,4}[ -]\d{3}[ -]\d{2,4}(?:[ -]\d{2,4})?(?!\w|-\d)", checks.phone),
        Form(r"(?<![\w.-])\d{2}-\d{2}-\d{2}-\d{2}(?:-\d{2})?(?!\w|-\d)", checks.phone),
        Form(
            r"(?i)\b(?:phone|telephone|tel|mobile|cell|fax|call|whatsapp)(?: number| no)?\.?[:#]?\s?"
            r"(?:me |us )?(?:at |on |is )?(?P<x>[+(]?\d[\d ().-]{5,18}\d)",
            checks.phone,
        ),
    ),
    "handle": (
        Form(r"(?<![\w@/.])@[A-Za-z_][\w.]{1,30}\w"),
        Form(r"(?i)\buser ?(?:name|id)(?: ?:| is) ?(?P<x>[a-z][\w.-]{2,30}\w)"),
    ),
    "code": (
        Form(
            rf"(?i)\b{_ID_WORD}{_ID_NUMBER} ?(?:is |[:#]) ?#?(?P<x>[a-z0-9][a-z0-9/_-]{{2,40}})", checks.code
        ),
        Form(rf"(?i)\b{_ID_WORD}{_ID_NUMBER} #?(?P<x>[a-z]{{0,5}}-?\d[a-z0-9/_-]{{3,40}})", checks.code),
        Form(r"(?<![\w.,+-])\d{8,24}(?![\w-]|[.,]\d)"),
        Form(r"\b[A-Z]{1,6}[-_]?\d{3,20}(?:[-_][A-Z0-9]{1,12}){0,4}\b"),
        Form(r"(?<![\w-])[A-Z]{2,6}(?:[-_][A-Z0-9]{1,12}){1,5}\b", checks.code),
        Form(r"(?i)\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"),
        Form(r"(?i)(?<![\w:-])(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}(?![\w:-])"),
    ),
    "address": (
        Form(
            rf"\b\d{{1,6}}[A-Za-z]?,? (?:(?:{_CAPITAL}|\d{{1,3}}{_NTH}) ){{1,4}}{_STREET}\b"
            r"(?:,? (?:Apt|Apartment|Suite|Unit|Floor|#)\.? ?[\w-]{1,8})?"
        ),
        Form(rf"\b(?:\d{{1,5}},? )?{_ROAD} (?:(?:de|del|du|des|di|da|la|le|el|al) ){{0,2}}{_CAPITALS}"),
        Form(rf"(?:\b\d{{1,5}} )?\b[A-Z]\w{{1,30}}{_BUILT_STREET}(?:,? \d{{1,5}})?\b"),
        Form(r"\b(?:Apt|Apartment|Suite|Ste|Flat)\.? ?#?\d{1,5}\b"),
        Form(r"(?i)\b(?:zip|postal|post)[ -]?(?:code)?: ?(?P<x>[a-z0-9]{3,5}(?:[ -][a-z0-9]{3,4})?)\b"),
        Form(rf"(?i)\b\d{{1,6}}[a-z]? (?:(?!{_NOT_STREET}\b)[a-z'.-]{{2,20}} ){{1,3}}{_SMALL_STREET}\b"),
        Form(r"(?i)\bP\.? ?O\.? Box \d{1,8}\b"),
        Form(r"\b[A-Z]{2} \d{5}(?:-\d{4})?\b"),
        Form(r"\b[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}\b"),
    ),
    "title": (
        Form(
            r"\b(?i:mr|mrs|ms|miss|dr|prof|sir|judge|sgt|capt)\b\.? "
            rf"(?P<x>(?:[A-Z]\.? )?{_CAPITAL}(?: (?:[A-Z]\.|{_CAPITAL})){{0,2}})"
        ),
        Form(
            r"\b(?i:name|patient|signed|regards|sincerely|from|to|dear)[:,]\s?"
            rf"(?P<x>{_CAPITAL}(?: (?:[A-Z]\.|{_CAPITAL})){{1,3}})"
        ),
    ),
    "company": (
        Form(
            rf"(?<![\w&'’.-])(?:[A-Z][\w&'’.-]{{0,40}} (?:(?:of|&|for|the) )?){{1,5}}{_COMPANY}\b\.?"
        ),
        Form(
            r"\b(?:University|Bank|Ministry|Department|Institute|College|Church) of (?:the )?"
            rf"{_CAPITAL}(?: {_CAPITAL})?"
        ),
    ),
    "weekday": (Form(rf"\b{_WEEKDAY}\b"), Form(r"\b(?:Mon|Tues?|Wed|Thurs?|Thu|Fri)\b\.?")),
    "month": (
        Form(r"(?i)\b(?:january|february|april|june|july|august|september|october|november|december)\b"),
        Form(r"\b(?:March|MARCH|May(?! (?i:I|we|you|he|she|it|they|the|God|be)\b)|MAY)\b"),
        Form(rf"(?<=\d )(?:{_MONTH})|\b(?:{_MONTH})(?= \d)"),
    ),
    "sex": (
        Form(r"(?i)\b(?:sex|gender) ?: ?(?P<x>[mf])\b"),
        Form(r"(?<=[oO] )[MF]\b|(?<=[oO]ld )[MF]\b"),
    ),
    "money": (
        Form(r"(?i)[$€£¥] ?\d+(?:[.,]\d+)*(?: ?(?:thousand|million|billion|bn|[mk])\b)?"),
        Form(r"(?i)(?<![\w.,])\d+(?:[.,]\d+)* ?(?:dollars|euros?|pounds|cents|usd|eur|gbp|chf|pln|zł)\b"),
    ),
    "number": (
        Form(rf"(?<![\w.,])[-+]?\d+(?:[.,]\d+)*{_NTH}?(?!\w|-\w)(?: ?%)?"),
        Form(rf"\b{_SPELLED}(?:[ -](?i:hundred|thousand|million|billion))*\b"),
        Form(r"(?i)\b(?:hundred|thousand|million|billion|dozen)s?\b|\b(?:first|second|third|fourth|fifth)\b"),
    ),
}  # fmt: skip
