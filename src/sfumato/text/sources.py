"""Where vocabularies come from: GloVe files, WordLlama, and the input vectors of any encoder."""

from __future__ import annotations

import contextlib
import itertools
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.embedders.digests import package_folder, require_published
from sfumato.embedders.minilm import PACKAGE as MINILM_PACKAGE
from sfumato.embedders.minilm import PUBLISHED as MINILM_FILES
from sfumato.embedders.minilm import model_folder
from sfumato.embedders.wordllama import PUBLISHED as WORDLLAMA_FILES
from sfumato.errors import InputError, MissingPackageError
from sfumato.files import PathLike
from sfumato.inputs.lines import lines
from sfumato.numbers import whole_number
from sfumato.text.pieces import CONTINUES
from sfumato.text.vocabulary import WordVectors, word_rows
from sfumato.text.words import is_word

_MOST_WORDS = 10_000_000
_TABLES = ("word_embeddings.weight", "embed_tokens.weight", "wte.weight", "shared.weight", "embedding.weight")
"""How input vectors are called: BERT, Llama, GPT-2, T5, WordLlama."""
_SPACES = ("\u2581", "\u0120")
"""How the space before a word is written by SentencePiece and by byte-level BPE."""


def from_glove(path: PathLike, *, limit: int | None = 50_000) -> WordVectors:
    """Read a GloVe or word2vec text file: a word and its numbers a line, the most frequent first.

    Only lines whose word is a word in the sense of this package are taken, in lower case and once.
    """
    file = Path(path)
    if not file.is_file():
        raise InputError(f"`{file}` has to be a file of word vectors. There is no such file. Check the name.")
    most = _MOST_WORDS if limit is None else whole_number(limit, "limit", 2, _MOST_WORDS)
    words: dict[str, int] = {}
    rows: list[NDArray[np.float32]] = []
    for number, word, numbers in _glove_lines(file):
        if word not in words and is_word(word):
            rows.append(_numbers(numbers, rows[0].size if rows else None, file, number))
            words[word] = number
            if len(words) == most:
                break
    if len(words) < 2:
        raise InputError(f"`{file}` has to hold words with their vectors. Found {len(words)}.")
    return WordVectors(words, np.stack(rows), name=f"glove:{file.name}")


def _glove_lines(file: Path) -> Iterator[tuple[int, str, str]]:
    found = lines(file, file.suffix.lower() == ".gz")
    first = list(itertools.islice(found, 1))
    # word2vec's text form starts with the size of the table.
    header = bool(first) and len(first[0][1].split()) == 2
    for number, line in found if header else itertools.chain(first, found):
        word, _, numbers = line.partition(" ")
        yield number, word.lower(), numbers


def _numbers(text: str, wanted: int | None, file: Path, line: int) -> NDArray[np.float32]:
    row: NDArray[np.float32] | None = None
    # Text that is no number is a warning in some versions of numpy and an error in others.
    with contextlib.suppress(ValueError, DeprecationWarning), warnings.catch_warnings():
        warnings.simplefilter("error")
        row = np.fromstring(text, np.float32, sep=" ")
    if row is None or row.size < 2 or (wanted is not None and row.size != wanted):
        rule = "a word and at least 2 numbers" if wanted is None else f"a word and {wanted} numbers"
        raise InputError(f"Line {line} of `{file}` has to hold {rule}. Found something else. Check the file.")
    return row


def from_wordllama(*, limit: int | None = None) -> WordVectors:
    """WordLlama's static vectors of those of its tokens that are whole words."""
    folder = package_folder("wordllama")
    if folder is None:
        raise MissingPackageError("wordllama", "wordllama", "for the vocabulary `wordllama`")
    require_published(folder, WORDLLAMA_FILES, "wordllama")
    weights, tokenizer = (folder / name for name in WORDLLAMA_FILES)
    return _read(weights, tokenizer, "wordllama", limit, pieces=False)


def from_minilm(*, limit: int | None = None, pieces: bool = False) -> WordVectors:
    """The input vectors of all-MiniLM-L6-v2: its whole words, or all of its word pieces."""
    folder = model_folder()
    require_published(folder, MINILM_FILES, MINILM_PACKAGE)
    return _read(folder / "model.safetensors", folder / "tokenizer.json", "minilm", limit, pieces)


def from_folder(folder: PathLike, *, limit: int | None = None, pieces: bool = False) -> WordVectors:
    """The input vectors of a model folder that holds model.safetensors and tokenizer.json."""
    place = Path(folder)
    for name in ("model.safetensors", "tokenizer.json"):
        if not (place / name).is_file():
            raise InputError(f"`{place}` has to hold {name}. It is missing: give a model's folder.")
    return _read(
        place / "model.safetensors", place / "tokenizer.json", f"encoder:{place.name}", limit, pieces
    )


def _read(weights: Path, tokenizer: Path, name: str, limit: int | None, pieces: bool) -> WordVectors:
    table = _table(weights)
    tokens = _tokens(tokenizer, len(table))
    most = len(tokens) if limit is None else whole_number(limit, "limit", 2, _MOST_WORDS)
    if pieces:
        kept = [row for row, token in enumerate(tokens) if is_word(token.removeprefix(CONTINUES))][:most]
        continues = np.array([tokens[row].startswith(CONTINUES) for row in kept])
        if not continues.any():
            raise InputError(
                f"`{tokenizer.name}` has no pieces that are written {CONTINUES}: use whole words."
            )
        return WordVectors(
            [tokens[row] for row in kept], table[kept], name=f"{name}, pieces", continues=continues
        )
    # Where spaces are written, only what follows one is a whole word; elsewhere only what continues none.
    spaced = any(token.startswith(_SPACES) for token in tokens)
    shown = [
        (token[1:] if token.startswith(_SPACES) else "")
        if spaced
        else ("" if token.startswith(CONTINUES) else token)
        for token in tokens
    ]
    words, rows = word_rows(shown)
    if len(words) < 2:
        raise InputError(f"`{tokenizer.name}` has to hold whole words. Found {len(words)}.")
    return WordVectors(words[:most], table[rows[:most]], name=name)


def _table(weights: Path) -> NDArray[np.float32]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(weights, "numpy") as file:
            names = [name for name in file.keys() if name.endswith(_TABLES)]  # noqa: SIM118 (no mapping)
            if len(names) != 1:
                raise InputError(
                    f"`{weights.name}` has to hold one table of input vectors. Found {len(names)}."
                )
            table: NDArray[np.float32] = file.get_tensor(names[0]).astype(np.float32)
    except SafetensorError:
        raise InputError(f"`{weights.name}` is not a safetensors file, or it is damaged.") from None
    return table


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
