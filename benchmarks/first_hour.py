"""How long the commands of docs/first-hour.md take, from pip install on.

python benchmarks/first_hour.py                # in a new virtual environment, deleted afterwards
python benchmarks/first_hour.py --venv FOLDER  # in one that has everything; pip is passed over
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "first-hour.md"


def commands() -> list[str]:
    """The commands of the page, in its order."""
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    return [line for block in blocks for line in block.strip().splitlines()]


def timed(command: str, folder: Path, env: dict[str, str]) -> tuple[float, float]:
    """Seconds by the clock and of processor; a verdict that fails is none of our business, bad input is."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, capture_output=True, text=True)
    wall, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1) or (done.returncode and "audit" not in command):
        sys.exit(f"{command}\n{done.stdout}{done.stderr}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Walk the page, and print what each command took."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--venv", type=Path, help="a virtual environment that has everything")
    given = parser.parse_args().venv
    with tempfile.TemporaryDirectory() as made:
        folder, venv = Path(made), (given or Path(made) / "venv").resolve()
        if given is None:
            subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        script = re.search(r"```py\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert script is not None
        (folder / "fill.py").write_text(script[1], encoding="utf-8")
        env = {**os.environ, "PATH": f"{venv / 'bin'}{os.pathsep}{os.environ['PATH']}"}
        env.pop("PYTHONPATH", None)
        total = 0.0
        for command in commands():
            install = command.startswith("pip ")
            if install and given is not None:
                continue
            wall, processor = timed(command, ROOT if install else folder, env)
            total += wall
            sys.stdout.write(f"{wall:7.1f} s, {processor:5.1f} s of processor  {command:.80}\n")
            sys.stdout.flush()
        load = os.getloadavg()[1]
        sys.stdout.write(f"{total:7.1f} s in all; load {load:.1f} on {os.cpu_count()} cores\n")


if __name__ == "__main__":
    main()
