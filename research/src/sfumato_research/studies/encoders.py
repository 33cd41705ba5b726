"""The encoders that findings are checked on: one table for every study, with the family each one is of.

A finding holds "on N encoders of M families": an encoder that was made from another one is no other family.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sfumato.embedders.loader import EMBEDDERS
from sfumato.errors import ParameterError


@dataclass(frozen=True, slots=True)
class StudyEncoder:
    """An encoder as studies name it."""

    name: str
    """In options, in the names of kept files, and in rows."""
    title: str
    """In headings and tables."""
    family: str
    dim: int
    folder: str = ""
    """The environment variable that names the folder it is read from, where no package holds it."""

    @property
    def spec(self) -> str:
        """What `load_embedder` opens it by."""
        if self.name in EMBEDDERS or not self.folder:
            return self.name
        named = os.environ.get(self.folder, "")
        if not named:
            raise ParameterError(f"The encoder `{self.name}` has to be a folder. Name it in {self.folder}.")
        return named

    @property
    def present(self) -> bool:
        """Whether it can be run here."""
        if self.folder:
            named = os.environ.get(self.folder, "")
            return bool(named) and Path(named).expanduser().is_dir()
        return self.name in EMBEDDERS and EMBEDDERS.installed(self.name)


ENCODERS = (
    StudyEncoder("minilm", "all-MiniLM-L6-v2", "BERT, distilled", 384),
    StudyEncoder("wordllama", "WordLlama", "static token vectors", 256),
    StudyEncoder(
        "use-lite", "Universal Sentence Encoder Lite", "Google's transformer", 512, "SFUMATO_USE_LITE"
    ),
    StudyEncoder("use-multilingual", "multilingual USE", "convolutions", 512),
    StudyEncoder("smollm2", "SmolLM2-135M, pooled", "decoder language model", 576),
    # Made from MiniLM's own weights: another encoder, with more dimensions, and of the same family.
    StudyEncoder("encoder768", "our own, 768", "BERT, distilled", 768, "SFUMATO_ENCODER768"),
)
"""Every study encoder, the default first. `weights/encoder768` makes the last one."""
_BY_NAME = {each.name: each for each in ENCODERS}


def study_encoder(name: str) -> StudyEncoder:
    """The encoder of that name; any other embedder stands for itself, with no family and no dimension."""
    return _BY_NAME.get(name) or StudyEncoder(name, name, "", 0)


def present(*names: str) -> list[StudyEncoder]:
    """Those that can be run here, of all or of the named ones, in the table's order."""
    return [each for each in ENCODERS if (not names or each.name in names) and each.present]


def families(names: Iterable[str]) -> list[str]:
    """The different families of some encoders, in the table's order."""
    wanted = set(names)
    return list(dict.fromkeys(each.family for each in ENCODERS if each.name in wanted))
