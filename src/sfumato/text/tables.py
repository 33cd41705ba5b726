"""Input vectors of a model and its tokens, read from its files: the model itself is never loaded."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError, MissingPackageError
from sfumato.numbers import whole_number
from sfumato.text.pieces import CONTINUES
from sfumato.text.vocabulary import WordVectors, word_rows
from sfumato.text.words import is_word

MOST_WORDS = 10_000_000
_TABLES = ("word_embeddings.weight", "embed_tokens.weight", "wte.weight", "shared.weight", "embedding.weight")
"""How input vectors are called: BERT, Llama, GPT-2, T5, WordLlama."""
_GGUF_TABLE, _GGUF_TOKENS = "token_embd.weight", "tokenizer.ggml.tokens"
_PIECE, _BYTE = "\u2581", "\u0120"
"""How the space before a word is written by SentencePiece and by byte-level BPE."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenTable:
    """The tokens of a model and the vector of each."""

    tokens: Sequence[str]
    """As the tokenizer's file writes them; empty where a row has none."""
    rows: NDArray[np.float32]
    source: str
    """The file of the tokens, for messages."""

    @property
    def spaced(self) -> bool:
        """Whether the space before a word is a part of its token."""
        return any(token.startswith((_PIECE, _BYTE)) for token in self.tokens)

    def words(self, name: str, limit: int | None, pieces: bool) -> WordVectors:
        """A vocabulary of its whole words, or of its pieces."""
        most = len(self.tokens) if limit is None else whole_number(limit, "limit", 2, MOST_WORDS)
        return self._pieces(name, most) if pieces else self._whole(name, most)

    def _whole(self, name: str, most: int) -> WordVectors:
        # Where spaces are written, only what follows one is a whole word; elsewhere only what continues none.
        shown = [text if starts else "" for text, starts in self._written()]
        words, rows = word_rows(shown)
        if len(words) < 2:
            raise InputError(f"`{self.source}` has to hold whole words. Found {len(words)}.")
        return WordVectors(words[:most], self.rows[rows[:most]], name=name)

    def _pieces(self, name: str, most: int) -> WordVectors:
        """Every token of letters and digits; one that continues a word is written with a mark in front."""
        kept: dict[str, int] = {}
        for row, (text, starts) in enumerate(self._written()):
            if is_word(text):
                kept.setdefault(text if starts else CONTINUES + text, row)
        words = list(kept)[:most]
        continues = np.array([word.startswith(CONTINUES) for word in words], bool)
        if not continues.any():
            raise InputError(
                f"`{self.source}` has no pieces that continue a word: use whole words, or raise the limit."
            )
        rows = [kept[word] for word in words]
        return WordVectors(
            words, self.rows[rows], name=f"{name}, pieces", continues=continues, cased=self.spaced
        )

    def _written(self) -> Iterator[tuple[str, bool]]:
        """Each token as it stands in a text, and whether it starts a word."""
        marks = Counter(token[:1] for token in self.tokens)
        # A table of either kind may hold the other's mark as a letter.
        spaced, bytewise = self.spaced, marks[_BYTE] > marks[_PIECE]
        for token in self.tokens:
            if not spaced:
                yield token.removeprefix(CONTINUES), not token.startswith(CONTINUES)
                continue
            starts = token.startswith((_PIECE, _BYTE))
            rest = token[1:] if starts else token
            yield _from_bytes(rest) if bytewise else rest, starts


@cache
def _byte_letters() -> dict[str, int]:
    """The letter that byte-level BPE writes for each byte: printable ones for themselves (GPT-2's table)."""
    own = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {chr(value): value for value in own}
    others = [value for value in range(256) if value not in set(own)]
    return letters | {chr(256 + place): value for place, value in enumerate(others)}


def _from_bytes(token: str) -> str:
    """The text of a token of byte-level BPE; empty where it is no whole text by itself."""
    letters = _byte_letters()
    with contextlib.suppress(KeyError, UnicodeDecodeError):
        return bytes(letters[letter] for letter in token).decode("utf-8")
    return ""


def read_folder(folder: Path) -> TokenTable:
    """The table of a model folder that holds tokenizer.json and safetensors, in one file or several."""
    files = sorted(folder.glob("model*.safetensors"))
    if not files:
        raise InputError(f"`{folder}` has to hold model.safetensors. It is missing: give a model's folder.")
    if not (folder / "tokenizer.json").is_file():
        raise InputError(f"`{folder}` has to hold tokenizer.json. It is missing: give a model's folder.")
    return read_files(files, folder / "tokenizer.json")


def read_files(weights: Sequence[Path], tokenizer: Path) -> TokenTable:
    """The table that one of some safetensors files holds, and the tokens of a tokenizer.json."""
    found = [(file, name) for file in weights for name in _names(file)]
    if len(found) != 1:
        names = ", ".join(file.name for file in weights)
        raise InputError(f"`{names}` has to hold one table of input vectors. Found {len(found)}.")
    table = _tensor(*found[0])
    return TokenTable(_tokens(tokenizer, len(table)), table, tokenizer.name)


def _names(weights: Path) -> list[str]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(weights, "numpy") as file:
            return [name for name in file.keys() if name.endswith(_TABLES)]  # noqa: SIM118 (no mapping)
    except SafetensorError:
        raise InputError(f"`{weights.name}` is not a safetensors file, or it is damaged.") from None


def _tensor(weights: Path, name: str) -> NDArray[np.float32]:
    from safetensors import safe_open

    with safe_open(weights, "numpy") as file:
        part = file.get_slice(name)
        if part.get_dtype() != "BF16":
            return np.asarray(file.get_tensor(name), np.float32)
        shape = part.get_shape()
    # numpy has no such number: it is the upper half of a float32.
    with weights.open("rb") as handle:
        size = int.from_bytes(handle.read(8), "little")
        start, end = json.loads(handle.read(size))[name]["data_offsets"]
        handle.seek(8 + size + start)
        halves = np.frombuffer(handle.read(end - start), "<u2")
    return (halves.astype(np.uint32) << 16).view(np.float32).reshape(shape)


def _tokens(tokenizer: Path, rows: int) -> list[str]:
    """Every token in the order of the table; a row without one is empty."""
    parsed: Any = None
    with contextlib.suppress(ValueError, RecursionError):
        parsed = json.loads(tokenizer.read_text(encoding="utf-8"))
    held = parsed.get("model", {}).get("vocab") if isinstance(parsed, dict) else None
    if isinstance(held, list):  # unigram models list pairs of token and score
        held = {str(pair[0]): number for number, pair in enumerate(held)}
    if not isinstance(held, dict):
        raise InputError(f"`{tokenizer.name}` has to hold a model with a vocabulary. Found none.")
    tokens = [""] * rows
    for token, number in held.items():
        if isinstance(number, int) and 0 <= number < rows:
            tokens[number] = token
    return tokens


def read_gguf(file: Path) -> TokenTable:
    """The table and the tokens in a GGUF file, whatever its weights are packed as."""
    try:
        import gguf
        from gguf.quants import dequantize
    except ModuleNotFoundError:
        raise MissingPackageError("gguf", "smollm2", "to read a GGUF file") from None
    held: Any = None
    tokens: Any = None
    # What a damaged file makes its reader raise is of many kinds.
    with contextlib.suppress(ValueError, KeyError, IndexError, TypeError, NotImplementedError, OSError):
        reader = gguf.GGUFReader(str(file))
        tokens = reader.fields[_GGUF_TOKENS].contents()
        packed = next((each for each in reader.tensors if each.name == _GGUF_TABLE), None)
        held = None if packed is None else dequantize(packed.data, packed.tensor_type)
    if held is None or not isinstance(tokens, list) or len(tokens) != len(held):
        raise InputError(
            f"`{file.name}` has to be a GGUF file with tokens and a vector for each. Found something else."
        )
    return TokenTable([str(token) for token in tokens], np.asarray(held, np.float32), file.name)
