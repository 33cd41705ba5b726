"""What DPPN prints, in percent, by its own table numbers: the only figures typed by hand."""

from __future__ import annotations

from collections.abc import Mapping

METHODS = ("laplace", "purkayastha", "dppn")
"""LapMech, PurMech and DPPN, in the order of the printed columns."""

# Table 1 (STS12, FIQA): leakage, confidence and utility of the three methods by epsilon.
TRADE_OFF: Mapping[str, Mapping[int, tuple[float, ...]]] = {
    "sts12": {
        1: (7.36, 7.42, 1.61, 6.70, 6.80, 6.05, 29.28, 29.31, 40.78),
        2: (22.34, 22.66, 13.44, 9.39, 9.42, 8.25, 60.72, 60.72, 67.05),
        4: (38.17, 38.04, 33.49, 24.70, 24.74, 23.80, 72.47, 72.47, 73.40),
        6: (44.74, 44.76, 42.59, 34.59, 34.59, 34.14, 73.68, 73.68, 73.95),
        8: (48.48, 48.34, 47.11, 38.75, 38.82, 38.49, 73.98, 73.98, 74.09),
    },
    "fiqa": {
        1: (12.56, 13.01, 2.01, 6.67, 6.70, 5.84, 10.64, 10.63, 15.05),
        2: (35.17, 35.31, 20.15, 16.70, 16.55, 11.92, 21.74, 21.76, 25.96),
        4: (55.69, 55.38, 51.26, 35.32, 35.25, 31.36, 32.22, 32.23, 32.84),
        6: (64.12, 64.13, 62.79, 43.35, 43.56, 41.57, 33.24, 33.26, 33.58),
        8: (68.85, 68.63, 67.99, 48.07, 47.77, 46.25, 33.50, 33.52, 33.73),
    },
}
CLEAN: Mapping[str, tuple[float, float, float]] = {
    "sts12": (60.09, 47.81, 74.25),
    "fiqa": (77.35, 54.48, 33.56),
}

# Table 2: leakage and utility of each perturbation on all, the top 10 % and the top 20 % of dimensions.
FUNCTIONS: Mapping[str, Mapping[float, tuple[float, float]]] = {
    "laplace": {1.0: (14.53, 45.95), 0.1: (14.60, 45.93), 0.2: (14.70, 45.85)},
    "purkayastha": {1.0: (14.33, 45.97), 0.1: (14.57, 45.94), 0.2: (14.60, 45.87)},
    "dppn": {1.0: (8.29, 40.69), 0.1: (7.01, 59.05), 0.2: (5.45, 56.97)},
}

# Table 3: leakage of clean vectors, then of the three methods at epsilon 1 and at 2.
ATTACKS: Mapping[str, tuple[float, ...]] = {
    "Vec2Text": (60.09, 6.94, 7.05, 1.29, 22.97, 22.39, 11.65),
    "GEIA": (25.34, 12.30, 12.36, 7.08, 20.60, 21.21, 15.82),
    "MLC": (53.20, 49.39, 49.80, 47.63, 52.74, 52.68, 49.59),
}

# Table 4: leakage of clean vectors and of the three methods at epsilon 2.
CATEGORIES: Mapping[tuple[str, str], tuple[float, ...]] = {
    ("PII", "sex"): (86.12, 42.35, 43.53, 28.24),
    ("PII", "city"): (68.45, 33.39, 34.10, 15.13),
    ("PII", "state"): (75.43, 36.63, 38.45, 21.47),
    ("PII", "country"): (84.07, 40.37, 41.45, 24.21),
    ("medical", "age"): (58.49, 31.88, 31.89, 25.91),
    ("medical", "sex"): (88.40, 43.38, 43.38, 17.43),
    ("medical", "disease"): (70.43, 23.32, 22.86, 15.57),
    ("medical", "symptom"): (82.76, 38.17, 31.30, 26.83),
    ("STS12", "name"): (62.20, 21.60, 20.73, 4.18),
    ("STS12", "location"): (49.69, 16.15, 15.53, 8.70),
    ("STS12", "random"): (78.24, 49.01, 49.24, 35.29),
}

# Table 5: leakage and utility of clean vectors and of the three methods at epsilon 2.
ENCODERS: Mapping[str, tuple[tuple[float, float], ...]] = {
    "GTR-base": ((60.09, 74.25), (22.66, 60.72), (22.88, 60.72), (13.11, 67.05)),
    "Sentence-T5": ((43.83, 86.79), (31.71, 63.16), (32.11, 63.15), (22.38, 74.45)),
    "SBERT": ((42.11, 81.36), (23.82, 77.89), (23.59, 77.89), (17.15, 79.42)),
}

# Table 9: leakage taken away from the target, from words like it and from others, at epsilon 2.
SPILL: Mapping[str, tuple[float, float, float]] = {
    "weekday": (76.2, 46.2, 11.7),
    "country": (64.3, 36.2, 29.1),
    "city": (72.5, 42.8, 12.6),
}

# Figure 5, in the text of section 5.1: overlap of black-box and white-box neurons by share of the top.
OVERLAP: Mapping[float, float] = {0.1: 32.0, 0.2: 51.0}
