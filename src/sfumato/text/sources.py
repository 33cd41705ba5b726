"""Where vocabularies come from: GloVe files, WordLlama, input vectors of encoders and language models."""

from __future__ import annotations

import contextlib
import itertools
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.embedders.digests import package_folder, require_published
from sfumato.embedders.huggingface.models import SMOLLM2, find_model
from sfumato.embedders.minilm import PACKAGE as MINILM_PACKAGE
from sfumato.embedders.minilm import PUBLISHED as MINILM_FILES
from sfumato.embedders.minilm import model_folder
from sfumato.embedders.wordllama import PUBLISHED as WORDLLAMA_FILES
from sfumato.errors import InputError, MissingPackageError
from sfumato.files import PathLike
from sfumato.inputs.lines import lines
from sfumato.numbers import whole_number
from sfumato.text.tables import MOST_WORDS, read_files, read_folder, read_gguf
from sfumato.text.vocabulary import WordVectors
from sfumato.text.words import is_word


def from_glove(path: PathLike, *, limit: int | None = 50_000) -> WordVectors:
    """Read a GloVe or word2vec text file: a word and its numbers a line, the most frequent first.

    Only lines whose word is a word in the sense of this package are taken, in lower case and once.
    """
    file = Path(path)
    if not file.is_file():
        raise InputError(f"`{file}` has to be a file of word vectors. There is no such file. Check the name.")
    most = MOST_WORDS if limit is None else whole_number(limit, "limit", 2, MOST_WORDS)
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
    return read_files([weights], tokenizer).words("wordllama", limit, pieces=False)


def from_minilm(*, limit: int | None = None, pieces: bool = False) -> WordVectors:
    """The input vectors of all-MiniLM-L6-v2: its whole words, or all of its word pieces."""
    folder = model_folder()
    require_published(folder, MINILM_FILES, MINILM_PACKAGE)
    table = read_files([folder / "model.safetensors"], folder / "tokenizer.json")
    return table.words("minilm", limit, pieces)


def from_folder(folder: PathLike, *, limit: int | None = None, pieces: bool = False) -> WordVectors:
    """The input vectors of a model folder that holds model.safetensors and tokenizer.json."""
    place = Path(folder)
    return read_folder(place).words(f"encoder:{place.name}", limit, pieces)


def from_language_model(model: PathLike, *, limit: int | None = None, pieces: bool = False) -> WordVectors:
    """The input vectors of a language model: a folder, a .gguf file, "smollm2", or a hub model's local copy.

    Only the table is read, so that a model of any size will do; nothing is fetched.
    """
    name, place = str(model), Path(model)
    if place.suffix.lower() != ".gguf":
        local = find_model(name)
        place = local.folder if local.gguf is None else local.folder / local.gguf
    elif not place.is_file():
        raise InputError(f"`{place}` has to be a GGUF file. There is no such file. Check the name.")
    table = read_gguf(place) if place.suffix.lower() == ".gguf" else read_folder(place)
    return table.words(f"lm:{name if name == SMOLLM2 else place.name}", limit, pieces)
