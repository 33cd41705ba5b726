"""The language guess, what other languages' lists find, and the warning of texts that nothing reads."""

from __future__ import annotations

import warnings

import pytest

from sfumato.concepts import CATALOG, Concept, catalog
from sfumato.concepts.detectors import lexicons, spacy
from sfumato.concepts.detectors.abroad import KINDS, Abroad
from sfumato.concepts.languages.coverage import LanguageWarning, unread, warn_unread
from sfumato.concepts.languages.guess import guess
from sfumato.concepts.languages.profiles import NAMES, WORDS
from sfumato.concepts.languages.vocabulary import VOCABULARIES, plain
from sfumato.errors import ParameterError
from sfumato.randomness import generator

SAMPLES = {
    "en": ("The patient lives in Munich and has had asthma.", "What would you like to drink with that?"),
    "de": ("Der Patient leidet an Bluthochdruck und wohnt in München.", "Wir sehen uns nicht vor dem Fest."),
    "fr": ("La patiente souffre d'asthme depuis trois ans.", "Nous avons reçu votre lettre avec le contrat."),
    "es": ("Paciente de 45 años con asma e hipertensión.", "No sabemos si el señor viene también."),
    "it": ("Il paziente vive a Torino e soffre di asma da due anni.", "Non abbiamo ancora la lettera."),
    "pt": ("O paciente mora em Lisboa e tem asma há dois anos.", "Não sabemos quando ela foi ao hospital."),
    "nl": ("De patiënt woont in Utrecht en heeft het al jaren.", "Wij hebben niet veel meer dan dat."),
    "zh": ("患者住在北京，患有哮喘。",),
    "ja": ("患者は東京に住んでいて、喘息があります。",),
    "ko": ("환자는 서울에 살고 있습니다.",),
    "cyrl": ("Пациент живёт в Москве.",),
    "grek": ("Ο ασθενής ζει στην Αθήνα.",),
    "arab": ("المريض يعيش في القاهرة.",),
    "scri": ("ავადმყოფი თბილისში ცხოვრობს.",),
}  # fmt: skip

PLANTED = [
    ("disease", "Der Patient leidet an Bluthochdruck.", ["bluthochdruck"]),
    ("disease", "Diagnóstico: asma", ["asma"]),
    ("disease", "La patiente a de l'asthme et une insuffisance rénale.", ["asthme", "insuffisance rénale"]),
    ("symptom", "Paciente con tos y dolor de cabeza desde hace dos días.", ["tos", "dolor de cabeza"]),
    ("drug", "Sie nimmt täglich Ramipril und Schmerzmittel ein.", ["ramipril", "schmerzmittel"]),
    ("city", "Sie wohnt in München.", ["münchen"]),
    ("city", "She moved to Muenchen, then to Munchen.", ["muenchen", "munchen"]),
    ("city", "Vive en Sevilla y trabaja en Nueva York.", ["sevilla", "nueva york"]),
    ("city", "患者住在北京。", ["北京"]),
    ("city", "患者は東京に住んでいます。", ["東京"]),
    ("country", "Er kommt aus Österreich, sie aus Frankreich.", ["österreich", "frankreich"]),
    ("state", "Sie zog nach Baden-Wuerttemberg.", ["baden-wuerttemberg"]),
    ("location", "Elle habite en Bretagne, près de Rennes.", ["bretagne", "rennes"]),
    ("date", "Aufnahme am 1. März 2024, Entlassung am 24.12.2024.", ["1. März 2024", "24.12.2024"]),
    ("date", "Vive aquí desde el 12 de enero de 2021.", ["12 de enero de 2021"]),
    ("date", "Le rendez-vous est le 3 mars 2020.", ["3 mars 2020"]),
    ("date", "出生于1987年3月5日。", ["1987年3月5日"]),
    ("weekday", "Wir treffen uns am Donnerstag, nous partons jeudi.", ["donnerstag", "jeudi"]),
    ("month", "Nos vemos en septiembre.", ["septiembre"]),
    ("age", "Die 45-jährige Patientin kam heute.", ["45-jährige"]),
    ("age", "Mujer de 45 años con fiebre.", ["45 años"]),
    ("age", "Homme de 45 ans, sans antécédents.", ["45 ans"]),
    ("age", "Il travaille ici depuis 12 ans.", []),
    ("person", "Heute kam Frau Dr. Lehmann mit Jürgen Vogt.", ["lehmann", "jürgen vogt"]),
    ("person", "Nous avons vu Mme Dupuis et M. Lefèvre.", ["dupuis", "lefèvre"]),
    ("person", "La señora Begoña Ibáñez Ruiz no vino.", ["begoña ibáñez ruiz"]),
    ("organisation", "Sie ist bei der Überlinger Bau GmbH seit gestern.", ["überlinger bau gmbh"]),
    ("organisation", "Il travaille pour Fournier Transports SARL.", ["fournier transports sarl"]),
    ("sex", "Die Frau und ihr Ehemann wohnen hier.", ["frau", "ehemann"]),
]  # fmt: skip


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    """A machine on which no optional package is installed."""
    monkeypatch.setattr(spacy, "best_model", lambda: None)
    monkeypatch.setattr(lexicons, "installed", lambda kind: False)


def guessed(text):
    guess.cache_clear()
    return guess(text)


@pytest.mark.parametrize("code", SAMPLES)
def test_the_language_of_a_sentence_is_guessed(code):
    assert [guessed(text) for text in SAMPLES[code]] == [code] * len(SAMPLES[code])
    assert code in NAMES


@pytest.mark.parametrize(
    "text", ["", "12 34", "Oslo", "!?", "ok", "W D L G / F G / A P", "Sales Op profit Sales"]
)
def test_little_text_has_no_language(text):
    assert guessed(text) is None


def test_a_guess_reads_a_bounded_part_of_a_text():
    assert guessed("the " * 2_000_000 + "und der nicht ist " * 3) is None  # one word, however often
    assert set(WORDS) <= set(NAMES)


@pytest.mark.parametrize(("name", "text", "terms"), PLANTED)
def test_planted_terms_are_found(name, text, terms, monkeypatch):
    monkeypatch.setattr(catalog, "tagger_ready", lambda: False)
    concept = Concept.named(name)
    assert sorted(term for term in concept.terms_in(text)) == sorted(each.lower() for each in terms)
    assert all(span.label == name for span in concept.find(text))
    if terms:
        assert concept.substitute(text, generator(0)) != text


@pytest.mark.parametrize(("name", "text", "terms"), PLANTED)
def test_the_tagger_takes_none_of_them_away(name, text, terms):
    """It knows English, and adds what it takes for names."""
    found = " ".join(Concept.named(name).terms_in(text))
    assert all(term.lower() in found for term in terms)


ENGLISH = (
    "In mayo season Don and his padre drove a Colonia car past Tours and Angers; the rage was a nice gale.",
    "Mars is far, and the man said: may the mutter and the fils be with you, dame.",
    "The Frau of the story took 3 Mars bars, and the German team beat the Chili cooks.",
)


@pytest.mark.parametrize("kind", KINDS)
def test_everyday_english_words_are_left_alone(kind):
    detector = Abroad(kind)
    assert [text[span.start : span.end] for text in ENGLISH for span in detector.find(text)] == []


def test_the_same_word_counts_in_its_own_language():
    french = Abroad("city")
    assert [span.start for span in french.find("Elle habite à Tours depuis deux ans avec son mari.")] == [14]
    assert not french.find("She tours the world with her husband and has been to Tours.")


def test_lists_hold_whole_terms_and_everyday_ones_are_listed():
    for each in VOCABULARIES:
        terms = {term for kind in KINDS for term in each.terms(kind)}
        assert all(term == " ".join(term.split()) and term for term in terms)
        folded = {plain(term).casefold() for term in terms}
        own = {plain(word).casefold() for word in getattr(each.module, "EVERYDAY", ())}
        assert len(terms) > 80 and len(own - folded) < 12


def test_a_kind_without_lists_is_refused():
    with pytest.raises(ParameterError, match="`kind` must be one of: person.*'email'"):
        Abroad("email")


def test_every_concept_says_its_languages():
    assert CATALOG["email"].languages() == () == CATALOG["phone"].languages()
    assert CATALOG["disease"].languages() == ("en", "de", "fr", "es")
    assert set(CATALOG["city"].languages()) == {"en", "de", "fr", "es", "zh", "ja"}
    assert Concept.from_terms("x", ["y"]).languages == ()
    assert "it" in Concept.named("person", wide=True).languages
    assert "zh" not in Concept.named("person", wide=True).languages


def test_texts_that_nothing_reads_are_counted_by_row_and_never_shown():
    texts = ["The patient has asthma and is here.", *SAMPLES["it"], *SAMPLES["de"], *SAMPLES["zh"]]
    found = unread(texts, [Concept.named("disease"), Concept.named("email")], first_row=10)
    assert found.rows == [11, 12, 15] and found.count == 3 and found.texts == 6
    assert dict(found.languages) == {"it": 2, "zh": 1} and found.concepts == ("disease",)
    said = str(found)
    assert "3 of 6 texts" in said and "Italian (2), Chinese (1)" in said and "rows 11, 12, 15." in said
    assert not any(word in said for text in texts for word in text.split() if len(word) > 6)
    with pytest.warns(LanguageWarning, match="3 of 6 texts"):
        warn_unread(found)


def test_nothing_is_said_where_every_language_is_read():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_unread(unread([*SAMPLES["de"], *SAMPLES["en"]], [Concept.named("location")]))
        warn_unread(unread(list(SAMPLES["ko"]), [Concept.from_terms("x", ["y"]), Concept.named("email")]))
