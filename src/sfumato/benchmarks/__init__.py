"""Speed: every mechanism beside its floor and beside other libraries, timed in turns."""

from sfumato.benchmarks.imports import ImportTimes, import_times
from sfumato.benchmarks.interleave import CPU, WALL, Spread, Timing, interleave
from sfumato.benchmarks.peers import PEERS, REFERENCES, PeerSpeed, Reference, compare
from sfumato.benchmarks.rewriting import PAPER_WORDS_A_SECOND, RewriteSpeed, rewrite_speeds
from sfumato.benchmarks.speed import FLOOR, BenchReport, Floor, Speed, bench

__all__ = [
    "CPU",
    "FLOOR",
    "PAPER_WORDS_A_SECOND",
    "PEERS",
    "REFERENCES",
    "WALL",
    "BenchReport",
    "Floor",
    "ImportTimes",
    "PeerSpeed",
    "Reference",
    "RewriteSpeed",
    "Speed",
    "Spread",
    "Timing",
    "bench",
    "compare",
    "import_times",
    "interleave",
    "rewrite_speeds",
]
