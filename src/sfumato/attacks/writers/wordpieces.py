"""The wordpieces a network reads and writes: the encoder's own, or some learned from the attacker's texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.int64]

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_LONGEST_PART = 6
_BEFORE = re.compile(r" (?=[.,;:!?)\]}%])|(?<=[(\[{$#]) ")
_INSIDE = re.compile(r"(?<=\w) (['’]) (?=(?:s|t|re|ve|ll|d|m)\b)|(?<=\w) (-) (?=\w)|(?<=\d) ([.,]) (?=\d)")


class Wordpieces:
    """Texts to lower-cased wordpieces and back."""

    def __init__(self, tokenizer: Any, *, package: str = "") -> None:
        from tokenizers import decoders

        self.package = package
        """The name under which an installed package has them, where one does."""

        self._tokenizer = tokenizer
        self._tokenizer.decoder = decoders.WordPiece(cleanup=False)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self.pad, self.unknown, self.begin, self.end, _ = (tokenizer.token_to_id(name) for name in SPECIAL)

    @classmethod
    def minilm(cls) -> Wordpieces:
        """The 30,522 wordpieces of all-MiniLM-L6-v2, from its package."""
        from tokenizers import Tokenizer

        from sfumato.embedders.minilm import model_folder

        folder = model_folder()
        return cls(Tokenizer.from_file(str(folder / "tokenizer.json")), package="minilm")

    @classmethod
    def learn(cls, texts: Iterable[str], size: int = 8000) -> Wordpieces:
        """Wordpieces that suit these texts, the same every time: characters, words, parts of rare words."""
        from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

        normal = normalizers.BertNormalizer(lowercase=True)
        split = pre_tokenizers.BertPreTokenizer()
        words = Counter(
            word for text in texts for word, _ in split.pre_tokenize_str(normal.normalize_str(text))
        )
        vocabulary = {piece: number for number, piece in enumerate(_chosen(words, size))}
        tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=200))
        tokenizer.normalizer, tokenizer.pre_tokenizer = normal, split
        return cls(tokenizer)

    @classmethod
    def from_json(cls, text: str) -> Wordpieces:
        """Read what `to_json` gave."""
        from tokenizers import Tokenizer

        return cls.minilm() if text == '"minilm"' else cls(Tokenizer.from_str(text))

    def to_json(self) -> str:
        """Everything, as text; the name alone where a package has the rest."""
        return f'"{self.package}"' if self.package else str(self._tokenizer.to_str())

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


def _chosen(words: Counter[str], size: int) -> list[str]:
    """The special ones, all characters, and what is frequent: four in five are words, the rest parts."""
    letters = sorted({letter for word in words for letter in word})
    fixed = [*SPECIAL, *letters, *(f"##{letter}" for letter in letters)]
    room = max(size - len(fixed), 0)

    def frequent(counts: Counter[str], most: int) -> list[str]:
        order = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return [piece for piece, count in order[:most] if count > 1]

    whole = frequent(Counter({word: count for word, count in words.items() if len(word) > 1}), 4 * room // 5)
    known = set(whole)
    parts: Counter[str] = Counter()
    for word, count in words.items():
        if word not in known:
            for length in range(2, min(len(word), _LONGEST_PART) + 1):
                parts[word[:length]] += count
                parts[f"##{word[-length:]}"] += count * (length < len(word))
    others = [part for part in frequent(parts, room) if part not in known]
    return fixed + whole + others[: room - len(whole)]


def tidy(text: str) -> str:
    """Put back the spacing that splitting took away; an uncased encoder reads both alike."""
    joined = _INSIDE.sub(lambda found: found.group(1) or found.group(2) or found.group(3), text)
    return _BEFORE.sub("", joined).strip()
