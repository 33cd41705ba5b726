"""Shapes of dates, ages, titles and companies in German, French, Spanish, Chinese and Japanese.

What stands under `ANYWHERE` cannot be taken for English; what stands under `AT_HOME` counts where the text is
in that language.
"""

from __future__ import annotations

from collections.abc import Iterable

from sfumato.concepts.detectors.shapes import Form
from sfumato.concepts.languages.vocabulary import spelled
from sfumato.concepts.lists import french, german, spanish

_YEAR = r"(?:1[89]|20)\d\d"
_UPPER = "A-ZÀ-ÖØ-Þ"
CAPITAL = rf"[{_UPPER}][\w'’-]{{1,30}}"
"""A word that begins with a capital, of any of these languages."""
_OWN_WORDS = frozenset({"april", "august", "september", "november", "mai", "mars", "juni", "juli"})


def _one_of(words: Iterable[str]) -> str:
    ordered = sorted(words, key=len, reverse=True)  # the longest first
    return "(?i:" + "|".join(word.replace(".", r"\.") for word in ordered) + ")"


_DE = (
    *spelled(german.MONTHS, german=True),
    "Jan.",
    "Feb.",
    "Mär.",
    "Apr.",
    "Aug.",
    "Sept.",
    "Okt.",
    "Nov.",
    "Dez.",
)
_FR, _ES = spelled(french.MONTHS), spelled(spanish.MONTHS)
_DISTINCT = _one_of(
    month for month in (*_DE, *_FR, *_ES) if month[-1] != "." and month.lower() not in _OWN_WORDS
)
_DOCTOR = r"(?:(?:Dr|Prof|Dra)\.(?: ?(?:med|phil|jur)\.)? ?){0,3}"
_BETWEEN = r"(?:(?:von|zu|van|der|de|del|de la|du|le|la|y) )?"
_COMPANY_NAME = (
    rf"(?<![\w&'’.-])(?:[{_UPPER}][\w&'’.-]{{0,40}},? (?:(?:&|und|et|y|de|du|des|la|le|für) )?){{1,5}}"
)
_SINCE = r"(?<!epuis )(?<!endant )(?<! y a )(?<!dans )(?<![Hh]ace )(?<!urante )"

ANYWHERE: dict[str, tuple[Form, ...]] = {
    "date": (
        Form(rf"\b\d{{1,2}}\. ?{_one_of(_DE)}(?:,? ?{_YEAR})?(?!\w)"),
        Form(rf"\b(?:1er|\d{{1,2}}) {_one_of(_FR)} {_YEAR}\b"),
        Form(rf"\b(?:1º|\d{{1,2}})º? de {_one_of(_ES)}(?: (?:de|del) (?:año )?{_YEAR})?\b"),
        Form(rf"\b{_DISTINCT}(?: de| del)? {_YEAR}\b"),
        Form(r"\d{2,4} ?年(?: ?\d{1,2} ?月(?: ?\d{1,2} ?[日号號])?)?|\d{1,2} ?月 ?\d{1,2} ?[日号號]"),
        Form(r"(?:星期|礼拜|禮拜|周)[一二三四五六日天]|[月火水木金土日]曜日?"),
    ),
    "weekday": (Form(r"(?:星期|礼拜|禮拜)[一二三四五六日天]|[月火水木金土日]曜日?"),),
    "month": (Form(r"(?<![\d年])\d{1,2} ?月(?! ?\d)|(?:十[一二]?|[一二三四五六七八九])月"),),
    "age": (
        Form(r"\b\d{1,3}[- ]?j(?:ä|ae|a)hrige[rnms]?\b"),
        Form(r"\b\d{1,3} Jahre alt\b"),
        Form(r"(?i)\bim Alter von (?P<x>\d{1,3})(?: Jahren)?\b"),
        Form(r"(?i)\b[âa]g[ée]e?s? de (?P<x>\d{1,3}(?: ans)?)\b"),
        Form(rf"{_SINCE}\b\d{{1,3}} ans\b(?! apr[èe]s| plus t| de )"),
        Form(rf"{_SINCE}\b\d{{1,3}} años\b(?! despu[ée]s| antes| más t)(?: de edad)?"),
        Form(r"\d{1,3} ?(?:岁|歲|歳)"),
    ),
    "person": (
        Form(rf"\b(?i:herrn?|frau|fräulein) {_DOCTOR}(?P<x>{CAPITAL}(?: (?:von|zu|van der) {CAPITAL})?)"),
        Form(
            r"\b(?i:monsieur|madame|mademoiselle|mme|mlle|señora?|señorita|sra\.|srta\.|doña) "
            rf"{_DOCTOR}(?P<x>{CAPITAL}(?: {_BETWEEN}{CAPITAL}){{0,2}})"
        ),
    ),
    "organisation": (
        Form(
            rf"{_COMPANY_NAME}(?:GmbH(?: ?& ?Co\. ?KG)?|mbH|KGaA|OHG|e\. ?V\.|SARL|S\.A\.R\.L\.|EURL"
            r"|S\.L\.U?\.?|S\.A\. de C\.V\.|S\. de R\.L\.(?: de C\.V\.)?)(?!\w)"
        ),
        Form(r"\b(?:Universität|Université|Universidad|Banco|Banque|Klinikum|Ministère|Ministerio) "
             rf"(?:(?:de|des|du|del|de la|von|zu) )?{CAPITAL}(?: {CAPITAL})?"),
    ),
    "sex": (Form(r"(?i)\b(?:geschlecht|sexe|sexo) ?: ?(?P<x>[mwfhvd])\b"),),
}  # fmt: skip

AT_HOME: dict[str, dict[str, tuple[Form, ...]]] = {
    "de": {
        "date": (
            Form(r"(?i)\b(?:heute|gestern|vorgestern|(?:ü|ue)bermorgen)\b"),
            Form(r"(?i)\bvor (?:\d{1,3}|einem|einer|zwei|drei) (?:Tag|Woche|Monat|Jahr)(?:e|en|n)?\b"),
            Form(rf"\b{_one_of(_DE)} {_YEAR}\b"),
            Form(r"(?i)\b(?:letzte|n(?:ä|ae)chste|diese)[nrs]? (?:Woche|Monat|Jahr)\b"),
        ),
        "person": (Form(rf"\b(?:Dr|Prof)\.(?: med\.)? (?P<x>{CAPITAL})"),),
        "organisation": (Form(rf"{_COMPANY_NAME}(?:AG|KG|UG|SE|eG|Bank|Versicherung|Klinik)(?!\w)"),),
    },
    "fr": {
        "date": (
            Form(r"(?i)\b(?:aujourd['’]hui|hier|demain|avant-hier)\b"),
            Form(rf"\b(?:1er|\d{{1,2}}) {_one_of(_FR)}\b"),
            Form(rf"\b{_one_of(_FR)} {_YEAR}\b"),
            Form(r"(?i)\bil y a (?:\d{1,3}|une?|deux|trois) (?:jours?|semaines?|mois|ans?)\b"),
            Form(r"(?i)\b(?:semaine|mois|année) (?:dernière|dernier|prochaine?)\b"),
        ),
        "person": (
            Form(rf"\b(?:MM?|Dr|Pr|Me)\.? (?P<x>{CAPITAL}(?: {_BETWEEN}{CAPITAL}){{0,2}})"),
        ),
        "organisation": (Form(rf"{_COMPANY_NAME}(?:S\.A\.S?\.?|SA|SAS|SNC|SCI)(?!\w)"),),
    },
    "es": {
        "date": (
            Form(r"(?i)\b(?:hoy|ayer|anteayer|pasado mañana)\b"),
            Form(rf"\b{_one_of(_ES)}(?: de| del)? {_YEAR}\b"),
            Form(r"(?i)\bhace (?:\d{1,3}|una?|dos|tres) (?:d[íi]as?|semanas?|mes(?:es)?|años?)\b"),
            Form(r"(?i)\b(?:semana|mes|año) (?:pasad[oa]|próxim[oa]|que viene)\b"),
        ),
        "age": (Form(rf"{_SINCE}\b\d{{1,3}} anos\b"),),
        "person": (
            Form(rf"\b(?:Sr|Dr|Dra|Don|D)\.? (?P<x>{CAPITAL}(?: {_BETWEEN}{CAPITAL}){{0,2}})"),
        ),
        "organisation": (Form(rf"{_COMPANY_NAME}(?:S\.A\.U?\.?|SA|SL|SLU|S\. ?Coop\.)(?!\w)"),),
    },
}  # fmt: skip
