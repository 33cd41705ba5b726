"""Keep a trained folder in half the space and in small files, and put it together again, to the bit.

    python halves.py split FOLDER SMALL      # files of at most 14 MB
    python halves.py join SMALL FOLDER

The weights were rounded to half precision when they were saved, so nothing is lost either way.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from sfumato.embedders.digests import folder_digest
from sfumato.errors import ArtifactError

MOST = 14_000_000
_PART = ".part-"
_DIGEST = "DIGEST"


def split(folder: Path, small: Path) -> None:
    for file in sorted(folder.rglob("*")):
        place = small / file.relative_to(folder)
        if file.is_dir():
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".safetensors":
            _save_parts(load_file(file), place, _said(file))
        else:
            shutil.copy(file, place)
    (small / _DIGEST).write_text(folder_digest(folder))


def join(small: Path, folder: Path) -> None:
    for file in sorted(small.rglob("*")):
        place = folder / file.relative_to(small)
        if file.is_dir() or file.name == _DIGEST or _PART in file.name:
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, place)
    for first in sorted(small.rglob(f"*{_PART}0")):
        name = first.name.removesuffix(f"{_PART}0")
        found = {}
        for part in sorted(first.parent.glob(f"{name}{_PART}*")):
            found.update(load_file(part))
        place = folder / first.relative_to(small).parent / name
        place.parent.mkdir(parents=True, exist_ok=True)
        save_file(_whole(found), place, _said(first))
    if folder_digest(folder) != (small / _DIGEST).read_text():
        raise ArtifactError(f"`{folder}` is not what was split. Split it again.")


def _save_parts(weights: dict[str, np.ndarray], place: Path, said: dict[str, str] | None) -> None:
    """Rows of large arrays are told apart by NAME@ROW."""
    pieces: list[tuple[str, np.ndarray]] = []
    for name, rows in weights.items():
        half = rows.astype(np.float16) if rows.dtype == np.float32 else rows
        if half.dtype != rows.dtype and not np.array_equal(half.astype(np.float32), rows):
            raise ArtifactError(f"{name} has to be rounded to half precision before.")
        many = max(1, -(-half.nbytes // MOST))
        step = -(-max(1, len(half) if half.ndim else 1) // many)
        if many == 1:
            pieces.append((f"{name}@0", half))
        else:
            pieces += [(f"{name}@{row}", half[row : row + step]) for row in range(0, len(half), step)]
    groups: list[dict[str, np.ndarray]] = [{}]
    for name, rows in pieces:
        if sum(each.nbytes for each in groups[-1].values()) + rows.nbytes > MOST:
            groups.append({})
        groups[-1][name] = np.ascontiguousarray(rows)
    for number, group in enumerate(groups):
        save_file(group, place.with_name(f"{place.name}{_PART}{number}"), said)


def _said(file: Path) -> dict[str, str] | None:
    with safe_open(file, "np") as found:
        return found.metadata()


def _whole(found: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    parts: dict[str, dict[int, np.ndarray]] = {}
    for each, rows in found.items():
        name, _, row = each.rpartition("@")
        parts.setdefault(name, {})[int(row)] = rows
    joined = {name: [some[row] for row in sorted(some)] for name, some in parts.items()}
    return {
        name: (np.concatenate(some) if len(some) > 1 else some[0]).astype(
            np.float32 if some[0].dtype == np.float16 else some[0].dtype
        )
        for name, some in joined.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("split", "join"))
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    asked = parser.parse_args()
    (split if asked.what == "split" else join)(asked.source, asked.target)


if __name__ == "__main__":
    main()
