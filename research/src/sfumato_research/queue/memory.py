"""How much of the GPU's memory each job takes, as far as `nvidia-smi` is there and says so."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress

_ASKED = ("--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits")
_PATIENCE = 5.0
"""Seconds it may take to answer."""


def memory_by_group() -> dict[int, float]:
    """GB that the processes of each process group hold now; nothing where nobody knows."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return {}
    try:
        said = subprocess.run(
            [program, *_ASKED], capture_output=True, text=True, timeout=_PATIENCE, check=True
        ).stdout
    except (OSError, ValueError, subprocess.SubprocessError):
        return {}
    found: dict[int, float] = {}
    for line in said.splitlines():
        number, _, used = line.partition(",")
        # Not a number: a process of another user, or a driver that does not tell.
        with suppress(ValueError, OSError):
            group = os.getpgid(int(number))
            found[group] = found.get(group, 0.0) + float(used) / 1024
    return found
