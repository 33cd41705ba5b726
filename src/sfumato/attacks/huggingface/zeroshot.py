"""Zero-shot reading: a language model proposes texts and the victim's encoder scores them; no pair is needed.

The idea of ZSInvert (Zhang, Morris and Shmatikov 2025, arXiv 2504.00147) and of Zero2Text (2026, arXiv
2602.01757). It reads any encoder that may be asked, through the release's own law and the neutral texts of a
protector, where there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from sfumato import artifacts
from sfumato.arrays import as_vectors
from sfumato.artifacts import PathLike
from sfumato.attacks.base import Attack, Control, Embeds, Inverter, OnStep, Recovered, checked, entrance_of
from sfumato.attacks.huggingface.asking import Asked, explained_by
from sfumato.attacks.huggingface.guessing import Guessing
from sfumato.attacks.huggingface.pieces import Pieces
from sfumato.attacks.huggingface.proposals import Proposer
from sfumato.attacks.huggingface.wordlist import WordList
from sfumato.attacks.kept_release import pack_victim, unpack_victim
from sfumato.devices import chosen_device
from sfumato.embedders import load_embedder
from sfumato.embedders.huggingface.models import SMOLLM2, find_model, load_tokenizer, load_weights
from sfumato.errors import ArtifactError, InputError, ParameterError
from sfumato.metrics.reconstruction import token_f1
from sfumato.numbers import finite_number, whole_number
from sfumato.release import AS_IT_IS, Release, Releasing, as_release

_KEPT = ("model", "queries", "words", "beam", "branch", "rounds", "longest", "fluency", "seed")


@dataclass(frozen=True, kw_only=True)
class ZeroShot(Attack):
    """Writes texts with a language model, asks the encoder how close they come, and goes on with the best.

    Args:
        model: a folder, the local copy of a hub model, or "smollm2" for the packaged SmolLM2-135M.
        embedder: the victim's encoder, or its name; None for a protector's own.
        queries: texts that are embedded for each vector.
        words: pieces that are embedded alone, once for all vectors.
        beam: texts that are gone on with.
        branch: how many ways of each are asked for.
        rounds: beams one after the other; later ones stand behind the best texts so far.
        longest: most pieces in a text.
        fluency: weight of the language model beside the fit, when a beam is cut.
        controls: texts, of those given, whose clean vectors the control is measured on.
        device: such as "cpu" or "cuda"; a GPU when None and there is one.
    """

    model: str = SMOLLM2
    embedder: Embeds | str | None = None
    queries: int = 2000
    words: int = 16_000
    beam: int = 6
    branch: int = 6
    rounds: int = 2
    longest: int = 32
    fluency: float = 0.5
    controls: int = 0
    device: str | None = None
    seed: int = 0

    name: ClassVar[str] = "zero-shot"
    paper: ClassVar[str] = "the idea of ZSInvert and Zero2Text"
    summary: ClassVar[str] = "a language model proposes, the encoder scores: no pairs, any encoder"
    reads: ClassVar[Literal["terms", "text", "row"]] = "text"
    needs: ClassVar[Literal["texts", "attacked", "nothing"]] = "nothing"
    wants: ClassVar[tuple[str, ...]] = ("encoder",)
    most_rows: ClassVar[int | None] = 24

    def __post_init__(self) -> None:
        """Check every field."""
        for name, low, high in (
            ("queries", 1, 10**6),
            ("words", 1, 10**6),
            ("beam", 1, 1024),
            ("branch", 1, 1024),
            ("rounds", 1, 100),
            ("longest", 1, 1024),
            ("controls", 0, 10**4),
            ("seed", 0, 2**63 - 1),
        ):
            whole_number(getattr(self, name), name, low, high)
        finite_number(self.fluency, "fluency", 0.0, 100.0)

    def fit(
        self,
        texts: Sequence[str] = (),
        vectors: Any = None,
        mechanism: Releasing | None = None,
        *,
        on_step: OnStep | None = None,
    ) -> ZeroShotReader:
        """Load the language model and embed its words; texts, where there are any, are for the control."""
        named = load_embedder(self.embedder) if isinstance(self.embedder, str) else self.embedder
        encoder = entrance_of(mechanism, named)
        if encoder is None:
            raise ParameterError("`embedder` must be the victim's encoder: guesses are embedded. Found none.")
        made = ZeroShotReader(self, encoder, as_release(mechanism))
        if on_step is not None:
            on_step("language model", 1.0)
        if self.controls and len(texts):
            known, clean = checked(texts, vectors)
            trial = made if made.release is None else ZeroShotReader(self, encoder, None, made.proposer)
            rows = trial.recover(clean[: self.controls]).rows
            found = [token_f1(text, str(row)) for text, row in zip(known, rows, strict=False)]
            made.control = Control("token F1", float(np.mean(found)), len(found))
        return made


class ZeroShotReader(Inverter):
    """A language model, the victim's encoder, and where the model's words lie in it.

    Args:
        settings: how texts are looked for.
        encoder: what embeds texts as the victim does.
        release: what its vectors go through.
        proposer: the language model, where it is loaded already.
    """

    kind = "zero-shot-attack"

    def __init__(
        self, settings: ZeroShot, encoder: Embeds, release: Release | None, proposer: Proposer | None = None
    ) -> None:
        self.settings, self.encoder, self.release = settings, encoder, release
        local = find_model(settings.model)
        self.digest = local.digest()
        self.proposer = proposer or _loaded(settings)
        size = self.proposer.model.get_input_embeddings().weight.shape[0]
        self.words = WordList.of(
            self.proposer.pieces, encoder, release or AS_IT_IS, int(size), settings.words
        )

    def recover(self, vectors: Any) -> Recovered:
        """Write a text for each vector; the score is its log likelihood with the release's, in nats.

        `details` holds the texts `asked` for each vector.
        """
        rows = as_vectors(vectors, dim=self.words.vectors.shape[1]).astype(np.float64)
        settings, release = self.settings, self.release or AS_IT_IS
        fit = explained_by(self.release, self._dim(), settings.seed)
        how = Guessing(settings.beam, settings.branch, settings.rounds, settings.longest, settings.fluency)
        texts, scores, asked = [], [], []
        for row in rows:
            one = Asked(self.encoder, release, row, fit, settings.queries)
            text, score = how.read(one, self.proposer, self.words)
            texts.append(text)
            scores.append(score)
            asked.append(len(one.fits))
        return Recovered(texts, np.array(scores), {"asked": np.array(asked, np.intp)})

    def _dim(self) -> int:
        """The dimension of the encoder's own vectors."""
        return int(np.asarray(self.encoder.embed(self.words.words[:1])).shape[1])

    def save(self, path: PathLike) -> str:
        """Write settings and what is known of the victim; of models, the language model's name and digest."""
        victim, arrays = pack_victim(self.release, self.encoder)
        name = getattr(self.encoder, "name", None)
        if not isinstance(name, str):
            raise InputError("A zero-shot attack is kept with its encoder's name. Found an encoder without.")
        config = {
            "settings": {each: getattr(self.settings, each) for each in _KEPT},
            "base_digest": self.digest,
            "victim": victim,
            "embedder": name,
            "control": None if self.control is None else [self.control.value, self.control.rows],
        }
        return artifacts.save(path, self.kind, config, arrays)

    @classmethod
    def load(
        cls, path: PathLike, *, embedder: Embeds | None = None, device: str | None = None
    ) -> ZeroShotReader:
        """Read it back.

        Args:
            path: the saved folder.
            embedder: the victim's encoder; None loads the one of that name.
            device: where to run the language model.
        """
        artifact = artifacts.load(path, cls.kind)
        try:
            config = artifact.config
            settings = ZeroShot(**config["settings"], device=device)
            named = load_embedder(str(config["embedder"])) if embedder is None else embedder
            release, encoder = unpack_victim(config["victim"], artifact.tensors, named)
            assert encoder is not None
            made = cls(settings, encoder, release)
            if made.digest != config["base_digest"]:
                raise ArtifactError(
                    f"The language model must be the same one, {str(config['base_digest'])[:12]}…. "
                    f"Found {made.digest[:12]}…."
                )
            if config["control"] is not None:
                made.control = Control("token F1", float(config["control"][0]), int(config["control"][1]))
        except (KeyError, TypeError, IndexError) as error:
            raise ArtifactError(f"The saved attack lacks {error} or holds it in another form.") from None
        return made


def _loaded(settings: ZeroShot) -> Proposer:
    local, device = find_model(settings.model), chosen_device(settings.device)
    tokenizer = load_tokenizer(local)
    pieces = Pieces.of(tokenizer)
    start = pieces.end if tokenizer.bos_token_id is None else int(tokenizer.bos_token_id)
    return Proposer(load_weights("AutoModelForCausalLM", local).to(device).eval(), pieces, start)
