"""Measure an encoder beside others, by the study `encoders`: python evaluate.py FOLDER --data DATA -o RESULTS

It is compared with MiniLM, which it was made from, and stands beside every study encoder that is installed
here. The tables go to RESULTS/encoders.json and to the screen.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from sfumato_research.studies import Setting, load_study
from sfumato_research.studies.page import whole
from sfumato_research.studies.running import read_result, run_study


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--cache", type=Path, help="where vectors are kept between runs")
    parser.add_argument("--part", action="append", default=[], help="stsb, sts12, sts13, sts14, search, room")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--device", default="cpu", help="written down; encoders find a GPU themselves")
    asked = parser.parse_args()
    os.environ["SFUMATO_ENCODER768"] = str(asked.folder)
    for folder in (asked.output, *([asked.cache] if asked.cache else [])):
        folder.mkdir(parents=True, exist_ok=True)
    setting = Setting(
        asked.data,
        quick=asked.quick,
        device=asked.device,
        cache=asked.cache,
        on_step=lambda step: print(step, flush=True),
    )
    done = run_study(load_study("encoders"), setting, asked.output, only=asked.part)
    parts = read_result(done.path)["parts"]
    print(whole({name: parts[name] for name in (*done.ran, *done.kept)}, "."))


if __name__ == "__main__":
    main()
