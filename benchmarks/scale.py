"""How fast a folder of Parquet files is released, in how much memory, and whether kills leave a trace.

Each size is released by `sfumato protect`, as a user runs it, in turns with the same mechanism on vectors
that are in memory already. Wall time is what a user waits; processor time leaves out what other programs
took.

    python benchmarks/scale.py --place /tmp/scale                     # 10,000 to 1,000,000 vectors of 384
    python benchmarks/scale.py --place /tmp/scale --rows 10000000     # 31 GB of disk, deleted again
    python benchmarks/scale.py --place /tmp/scale --rows 1000000 --kills 5 --ray
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from sfumato.accounting import Secret
from sfumato.mechanisms import Laplace
from sfumato.randomness import RowKeys, generator
from sfumato.scale.rows import as_table
from sfumato.scale.worker import open_writer

GROUP = 1 << 16
FILE_ROWS = 1_000_000
COMMAND = [sys.executable, "-c", "from sfumato.cli.main import run; run()", "protect"]


def unit(rows: int, dim: int, seed: int) -> np.ndarray:
    found = generator(seed).standard_normal((rows, dim), dtype=np.float32)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found


def make_inputs(place: Path, rows: int, dim: int) -> None:
    """Files of a million rows; beyond the first they are copies, which other names still give other noise."""
    place.mkdir(parents=True)
    first = place / "vectors-000.parquet"
    with open(first, "wb") as handle:
        writer = None
        for low in range(0, min(rows, FILE_ROWS), GROUP):
            table = as_table(unit(min(GROUP, min(rows, FILE_ROWS) - low), dim, low), {})
            writer = writer or open_writer(handle, table.schema)
            writer.write_table(table)
        writer.close()
    for number in range(1, rows // FILE_ROWS):
        shutil.copyfile(first, place / f"vectors-{number:03d}.parquet")


class Memory(threading.Thread):
    """Resident memory of a process and its children together, several times a second."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.series, self.over = pid, [], False

    def run(self) -> None:
        while not self.over:
            self.series.append(sum(resident(pid) for pid in [self.pid, *children(self.pid)]))
            time.sleep(0.2)

    def growth(self) -> float:
        """Megabytes between the first tenth of the run, when all workers are up, and the peak."""
        start = self.series[max(1, len(self.series) // 10)]
        return (max(self.series) - start) / 1e6


def children(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [each for child in map(int, text.split()) for each in (child, *children(child))]


def resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def release(source: Path, out: Path, dim: int, workers: int, *more: str, kills: int = 0) -> dict:
    """Run the command; with `kills`, end it hard so many times, each time after some more parts."""
    command = [*COMMAND, str(source), "-o", str(out), "--mechanism", "laplace", "--epsilon", str(dim)]
    command += ["--workers", str(workers), *more]
    total = sum(pq.ParquetFile(file).metadata.num_row_groups for file in source.glob("*.parquet"))
    processor = 0.0
    killed = 0
    start = time.perf_counter()
    while True:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
        memory = Memory(process.pid)
        memory.start()
        while killed < kills:
            if len(list(out.glob("*.parquet"))) >= (killed + 1) * total // (kills + 1):
                os.kill(process.pid, signal.SIGKILL)
                killed += 1
                break
            time.sleep(0.02)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        memory.over = True
        processor += used.ru_utime + used.ru_stime
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL, process.returncode
    return {
        "seconds": time.perf_counter() - start,
        "cpu": processor,
        "growth": memory.growth(),
        "peak": max(memory.series) / 1e6,
        "killed": killed,
    }


def in_memory(rows: int, dim: int, sticky: bool, threads: int) -> dict:
    """The mechanism alone on vectors in memory, for as many rows."""
    held = unit(min(rows, 1 << 17), dim, 1)
    mechanism = Laplace(epsilon=float(dim))
    keys = None
    if sticky:
        keys = RowKeys(generator(2).integers(0, 256, (len(held), 32), dtype=np.uint8))
    calls = max(1, rows // len(held))
    start, processor = time.perf_counter(), time.process_time()
    for _ in range(calls):
        mechanism.privatize(held, keys, threads=threads)
    scale = rows / (calls * len(held))
    return {
        "seconds": (time.perf_counter() - start) * scale,
        "cpu": (time.process_time() - processor) * scale,
    }


def digest(out: Path) -> str:
    """One digest of all released bytes, after each part was checked against its record."""
    whole = hashlib.sha256()
    for record in json.loads((out / "_manifest.json").read_text())["parts"]:
        found = hashlib.sha256()
        with open(out / record["output"], "rb") as handle:
            while block := handle.read(1 << 20):
                found.update(block)
        assert found.hexdigest() == record["sha256"], record["output"]
        whole.update(found.digest())
    return whole.hexdigest()


def measure(place: Path, rows: int, dim: int, workers: int, sticky: bool, rounds: int) -> dict:
    key = ("--secret", str(place / "key")) if sticky else ()
    found = []
    for _ in range(rounds):
        floor = in_memory(min(rows, FILE_ROWS), dim, sticky, workers)
        done = release(place / "in", place / "out", dim, workers, *key, "--restart")
        after = in_memory(min(rows, FILE_ROWS), dim, sticky, workers)
        wall = (floor["seconds"] + after["seconds"]) / 2 * rows / min(rows, FILE_ROWS)
        cpu = (floor["cpu"] + after["cpu"]) / 2 * rows / min(rows, FILE_ROWS)
        found.append({**done, "share": wall / done["seconds"], "floor_cpu": cpu})
    middle = sorted(found, key=lambda each: each["share"])[len(found) // 2]
    return {
        "rows": rows,
        "noise": "keyed" if sticky else "fresh",
        "seconds": middle["seconds"],
        "rate": rows / middle["seconds"],
        "share_of_in_memory": middle["share"],
        "cpu_us": middle["cpu"] / rows * 1e6,
        "in_memory_cpu_us": middle["floor_cpu"] / rows * 1e6,
        "growth_mb": max(each["growth"] for each in found),
        "peak_mb": max(each["peak"] for each in found),
        "load": os.getloadavg()[0],
    }


def show(row: dict) -> None:
    print(
        f"{row['rows']:>11,} {row['noise']:<6}{row['seconds']:>9.1f} s{row['rate']:>11,.0f}/s"
        f"{row['share_of_in_memory']:>7.0%} of memory{row['cpu_us']:>7.1f} us cpu (mechanism "
        f"{row['in_memory_cpu_us']:.1f}){row['growth_mb']:>7.0f} MB growth  load {row['load']:.1f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Release folders of Parquet files, small to large.")
    parser.add_argument(
        "--place", type=Path, required=True, help="An empty or new folder; deleted at the end."
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--noise", nargs="+", default=["keyed", "fresh"])
    parser.add_argument("--kills", type=int, default=0, help="Kill and resume the keyed run so many times.")
    parser.add_argument(
        "--ray", action="store_true", help="Also release through Ray, one kind after the other."
    )
    parser.add_argument("--json", type=Path)
    wanted = parser.parse_args()
    wanted.place.mkdir(parents=True)
    results = []
    try:
        Secret.from_file(wanted.place / "key", create=True)
        for rows in wanted.rows:
            make_inputs(wanted.place / "in", rows, wanted.dim)
            for noise in wanted.noise:
                row = measure(wanted.place, rows, wanted.dim, wanted.workers, noise == "keyed", wanted.rounds)
                show(row)
                results.append(row)
                if noise == "keyed":
                    results += more(wanted, rows)
                shutil.rmtree(wanted.place / "out")
            shutil.rmtree(wanted.place / "in")
    finally:
        shutil.rmtree(wanted.place)
        if wanted.json:
            wanted.json.write_text(json.dumps(results, indent=2))


def more(wanted: argparse.Namespace, rows: int) -> list[dict]:
    """The same keyed release killed and resumed, and through Ray, against the bytes of the first."""
    place, key = wanted.place, ("--secret", str(wanted.place / "key"))
    found = []
    whole = digest(place / "out")
    if wanted.kills:
        shutil.rmtree(place / "out")  # its digest stays, and the disk may be small
        done = release(place / "in", place / "out", wanted.dim, wanted.workers, *key, kills=wanted.kills)
        same = digest(place / "out") == whole
        print(f"{rows:>11,} killed {done['killed']} times and resumed: same bytes {same}", flush=True)
        found.append({"rows": rows, "killed": done["killed"], "same": same})
    if wanted.ray:
        for _ in range(wanted.rounds):
            shutil.rmtree(place / "out")
            ray = release(place / "in", place / "out", wanted.dim, wanted.workers, *key, "--engine", "ray")
            same = digest(place / "out") == whole
            shutil.rmtree(place / "out")
            here = release(place / "in", place / "out", wanted.dim, wanted.workers, *key)
            over = ray["seconds"] / here["seconds"]
            print(
                f"{rows:>11,} Ray {ray['seconds']:.1f} s, built in {here['seconds']:.1f} s ({over:.2f}x): "
                f"same bytes {same}",
                flush=True,
            )
            found.append({"rows": rows, "ray": ray["seconds"], "here": here["seconds"], "same": same})
    return found


if __name__ == "__main__":
    main()
