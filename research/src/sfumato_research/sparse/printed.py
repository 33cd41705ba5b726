"""What SPARSE prints, in percent, by its own table numbers: the only figures typed by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

METHODS = ("laplace", "purkayastha", "sparse")
"""LapMech, PurMech and SPARSE, in the order of the printed columns."""
EPSILONS = (5, 10, 20, 30, 40)


@dataclass(frozen=True, slots=True)
class PrintedTradeOff:
    """Leakage, confidence and utility of each method by printed epsilon, and of clean vectors."""

    leakage: Mapping[int, tuple[float, ...]]
    confidence: Mapping[int, tuple[float, ...]]
    utility: Mapping[int, tuple[float, ...]]
    clean: tuple[float, float, float]

    def kept(self, epsilon: int, method: str = "laplace") -> float:
        """Share of clean utility."""
        return self.utility[epsilon][METHODS.index(method)] / self.clean[2]


def _printed(rows: str, clean: tuple[float, float, float]) -> PrintedTradeOff:
    """Nine columns a line, one line an epsilon."""
    table = [[float(number) for number in line.split()] for line in rows.strip().splitlines()]
    parts = [{e: tuple(row[at : at + 3]) for e, row in zip(EPSILONS, table, strict=True)} for at in (0, 3, 6)]
    return PrintedTradeOff(parts[0], parts[1], parts[2], clean)


# Tables 1 (STS12, FIQA) and 7 (the others).
TRADE_OFF: Mapping[str, PrintedTradeOff] = {
    "sts12": _printed(
        """7.36 7.42 4.34 6.70 6.80 6.41 29.28 29.31 34.12
        22.34 22.66 19.31 9.39 9.42 8.91 60.72 60.72 65.27
        38.17 38.04 36.98 24.70 24.74 23.85 72.47 72.47 73.25
        44.74 44.76 43.81 34.59 34.59 34.16 73.68 73.68 74.04
        48.48 48.34 47.54 38.75 38.82 38.49 73.98 73.98 74.15""",
        (60.09, 47.81, 74.25),
    ),
    "fiqa": _printed(
        """12.56 13.01 8.48 6.67 6.70 6.18 10.64 10.63 14.87
        35.17 35.31 31.62 16.70 16.55 13.45 21.74 21.76 23.45
        55.69 55.38 53.41 35.32 35.25 33.77 32.22 32.23 32.65
        64.12 64.13 63.51 43.35 43.56 42.21 33.24 33.26 33.58
        68.85 68.63 68.13 48.07 47.77 46.65 33.50 33.52 33.85""",
        (77.35, 54.48, 33.56),
    ),
    "stsb": _printed(
        """20.75 19.03 2.68 1.89 1.98 1.78 40.03 40.05 48.17
        53.79 49.95 32.39 15.40 13.97 8.07 71.87 71.85 76.14
        71.82 69.15 64.79 41.76 38.44 36.33 80.95 80.95 81.00
        76.15 74.98 73.10 52.36 49.28 48.63 81.08 81.08 80.91
        78.94 77.40 76.42 56.84 54.02 53.98 80.95 80.95 80.81""",
        (86.75, 66.57, 80.64),
    ),
    "sts14": _printed(
        """1.03 1.55 0.30 20.42 20.88 18.05 39.76 39.71 48.47
        4.04 4.13 2.41 21.86 21.84 21.10 70.28 70.25 74.44
        8.64 8.77 9.46 28.05 27.73 28.56 79.16 79.16 79.31
        11.22 11.26 14.70 30.38 30.39 32.95 79.47 79.47 79.37
        13.67 13.50 16.12 32.09 32.05 34.81 79.43 79.43 79.32""",
        (21.97, 35.99, 79.25),
    ),
    "quora": _printed(
        """25.96 25.87 2.85 2.71 2.70 1.57 11.89 11.78 15.43
        57.44 54.78 33.67 18.62 15.92 9.94 70.04 70.19 82.19
        75.56 75.80 68.00 50.87 51.00 41.21 82.79 82.75 83.94
        81.65 81.65 76.75 58.99 59.08 53.43 83.70 83.72 84.02
        83.69 83.64 79.79 62.28 62.06 57.32 83.90 83.91 83.97""",
        (89.30, 68.30, 84.01),
    ),
    # NFCorpus, in whose place SciFact stands here.
    "scifact": _printed(
        """7.77 8.45 0.68 1.27 1.06 0.83 23.70 23.61 19.94
        29.73 31.42 12.16 15.92 15.51 6.73 27.31 27.38 29.61
        56.76 55.41 46.96 45.70 46.26 35.36 30.76 30.75 31.04
        69.93 69.26 57.77 58.27 58.00 48.09 31.32 31.32 31.37
        78.72 79.05 66.55 63.89 63.83 53.85 31.56 31.56 31.52""",
        (88.18, 75.54, 31.63),
    ),
}

# Table 2: leakage of clean vectors, then of the three methods at epsilon 5 and at 10.
ATTACKS: Mapping[str, tuple[float, ...]] = {
    "Vec2Text": (60.09, 7.36, 7.42, 4.34, 22.34, 22.66, 19.31),
    "GEIA": (25.34, 12.30, 12.36, 7.08, 20.60, 21.21, 15.82),
    "MLC": (53.20, 19.39, 19.80, 17.63, 32.74, 32.68, 29.59),
}

# Table 3: leakage of clean vectors and of the three methods at epsilon 10.
CATEGORIES: Mapping[tuple[str, str], tuple[float, ...]] = {
    ("pii", "sex"): (86.12, 42.35, 43.53, 33.76),
    ("pii", "city"): (68.45, 33.39, 34.10, 28.76),
    ("pii", "state"): (75.43, 36.63, 38.45, 33.62),
    ("pii", "country"): (84.07, 40.37, 41.45, 35.19),
    ("medical", "age"): (58.49, 31.88, 31.89, 28.98),
    ("medical", "sex"): (88.40, 43.38, 43.38, 28.45),
    ("medical", "disease"): (70.43, 23.32, 22.86, 18.28),
    ("medical", "symptom"): (82.76, 38.17, 31.30, 29.35),
}

# Table 4: leakage and utility of SPARSE-WB at each epsilon.
WHITE_BOX: Mapping[str, Mapping[int, tuple[float, float]]] = {
    "sts12": {
        5: (1.43, 40.92),
        10: (12.01, 67.45),
        20: (33.67, 74.01),
        30: (42.95, 74.13),
        40: (47.13, 74.10),
    },
    "fiqa": {
        5: (3.03, 14.58),
        10: (22.35, 26.46),
        20: (51.27, 32.87),
        30: (62.70, 33.55),
        40: (67.92, 33.58),
    },
}

# Table 5: leakage taken away from the target, from words like it and from others, at epsilon 10.
SPILL: Mapping[str, tuple[float, float, float]] = {
    "weekday": (76.2, 46.2, 11.7),
    "country": (64.3, 36.2, 29.1),
    "month": (72.5, 42.8, 12.6),
    "gender": (61.0, 40.5, 18.3),
    "city": (70.2, 39.8, 14.7),
}

# Table 8: leakage and utility of clean vectors and of the three methods at epsilon 10.
ENCODERS: Mapping[str, tuple[tuple[float, float], ...]] = {
    "GTR-base": ((60.09, 74.25), (22.34, 60.72), (22.66, 60.72), (19.31, 65.27)),
    "Sentence-T5": ((43.83, 86.79), (31.71, 63.16), (32.11, 63.15), (22.38, 74.45)),
    "SBERT": ((42.11, 81.36), (23.82, 66.89), (23.59, 65.89), (17.15, 69.42)),
}

# Table 9: utility and the rate R; leakage is printed for SPARSE alone.
REWRITING: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "sts12": {
        "removal": (59.47, 4.12),
        "random-word": (60.50, 4.42),
        "nearest-term": (64.46, 6.22),
        "sparse": (73.25, 23.11),
    },
    "fiqa": {
        "removal": (21.24, 6.27),
        "random-word": (19.20, 5.38),
        "nearest-term": (18.37, 5.09),
        "sparse": (32.65, 26.30),
    },
}

# Table 10: leakage and utility by lambda at epsilon 10 and 20.
LAMBDAS: Mapping[str, Mapping[float, Mapping[int, tuple[float, float]]]] = {
    "sts12": {
        1e-2: {10: (0.91, 36.87), 20: (1.37, 43.25)},
        5e-3: {10: (3.82, 48.05), 20: (7.14, 56.17)},
        1e-3: {10: (19.31, 65.27), 20: (36.98, 73.25)},
        5e-4: {10: (25.83, 59.78), 20: (44.23, 67.10)},
        1e-4: {10: (33.02, 52.45), 20: (51.47, 59.66)},
    },
    "fiqa": {
        1e-2: {10: (1.28, 13.82), 20: (1.93, 17.44)},
        5e-3: {10: (6.42, 18.67), 20: (11.68, 25.09)},
        1e-3: {10: (31.62, 23.45), 20: (53.41, 32.65)},
        5e-4: {10: (36.43, 21.42), 20: (58.23, 28.93)},
        1e-4: {10: (40.82, 18.63), 20: (62.14, 25.42)},
    },
}

# Table 11: microseconds a sample.
LATENCY: Mapping[str, float] = {"laplace": 39.8, "purkayastha": 33_200.0, "sparse": 48.4}

# Table 12: cosine of what was rebuilt with the original, at epsilon 5 (age) and 10 (disease).
CASES: Mapping[str, tuple[float, float]] = {
    "unprotected": (0.98, 0.95),
    "laplace": (0.11, 0.23),
    "purkayastha": (0.11, 0.18),
    "sparse": (0.62, 0.54),
}

# Figure 3: mean sensitivity of the top tenth, and the p-value of Wilcoxon's test against the bottom tenth.
TOP_SENSITIVITY, P_VALUE = 0.04, 1.30e-21
