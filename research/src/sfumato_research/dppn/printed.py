"""What DPPN prints, in percent, by its own table numbers: the only figures typed by hand."""

from __future__ import annotations

from collections.abc import Mapping

METHODS = ("laplace", "purkayastha", "dppn")
"""LapMech, PurMech and DPPN, in the order of the printed columns."""

# Tables 1 (STS12, FIQA) and 7 (the others): leakage, confidence and utility of the three methods by epsilon.
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
    "stsb": {
        1: (20.75, 19.03, 2.68, 1.89, 1.98, 1.78, 40.03, 40.05, 48.17),
        2: (53.79, 49.95, 32.39, 15.40, 13.97, 8.07, 71.87, 71.85, 76.14),
        4: (71.82, 69.15, 64.79, 41.76, 38.44, 36.33, 80.95, 80.95, 81.00),
        6: (76.15, 74.98, 73.10, 52.36, 49.28, 48.63, 81.08, 81.08, 80.91),
        8: (78.94, 77.40, 76.42, 56.84, 54.02, 53.98, 80.95, 80.95, 80.81),
    },
    "sts14": {
        1: (1.03, 1.55, 0.30, 20.42, 20.88, 18.05, 39.76, 39.71, 48.47),
        2: (4.04, 4.13, 2.41, 21.86, 21.84, 21.10, 70.28, 70.25, 74.44),
        4: (8.64, 8.77, 9.46, 28.05, 27.73, 28.56, 79.16, 79.16, 79.31),
        6: (11.22, 11.26, 14.70, 30.38, 30.39, 32.95, 79.47, 79.47, 79.37),
        8: (13.67, 13.50, 16.12, 32.09, 32.05, 34.81, 79.43, 79.43, 79.32),
    },
    "quora": {
        1: (25.96, 25.87, 2.85, 2.71, 2.70, 1.57, 11.89, 11.78, 72.33),
        2: (57.44, 54.78, 33.67, 18.62, 15.92, 9.94, 70.04, 70.19, 82.19),
        4: (75.56, 75.80, 68.00, 50.87, 51.00, 41.21, 82.79, 82.75, 83.94),
        6: (81.65, 81.65, 76.75, 58.99, 59.08, 53.43, 83.70, 83.72, 84.02),
        8: (83.69, 83.64, 79.79, 62.28, 62.06, 57.32, 83.90, 83.91, 83.97),
    },
    # NFCorpus, in whose place SciFact stands here.
    "scifact": {
        1: (7.77, 8.45, 0.68, 1.27, 1.06, 0.83, 23.70, 23.61, 19.94),
        2: (29.73, 31.42, 12.16, 15.92, 15.51, 6.73, 27.31, 27.38, 29.61),
        4: (56.76, 55.41, 46.96, 45.70, 46.26, 35.36, 30.76, 30.75, 31.04),
        6: (69.93, 69.26, 57.77, 58.27, 58.00, 48.09, 31.32, 31.32, 31.37),
        8: (78.72, 79.05, 66.55, 63.89, 63.83, 53.85, 31.56, 31.56, 31.52),
    },
}
CLEAN: Mapping[str, tuple[float, float, float]] = {
    "sts12": (60.09, 47.81, 74.25),
    "fiqa": (77.35, 54.48, 33.56),
    "stsb": (86.75, 66.57, 80.64),
    "sts14": (21.97, 35.99, 79.25),
    "quora": (89.30, 68.30, 84.01),
    "scifact": (88.18, 75.54, 31.63),
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

# Table 6: cosine of what was rebuilt with the original, at epsilon 1 (age) and 2 (disease).
CASES: Mapping[str, tuple[float, float]] = {
    "unprotected": (0.98, 0.95),
    "laplace": (0.11, 0.23),
    "purkayastha": (0.11, 0.18),
    "dppn": (0.62, 0.54),
}

# Table 8: sentences, words of a sentence and different named entities of each set.
SETS: Mapping[str, tuple[int, float, int]] = {
    "STS12": (10684, 14.53, 123),
    "FIQA": (5500, 10.80, 41),
    "STSB": (17256, 10.17, 228),
    "STS14": (3000, 9.77, 41),
    "Quora": (10000, 9.53, 90),
    "NFCorpus": (2590, 3.31, 13),
    "MIMIC-III": (4244, 15.03, 290),
    "PII-300K": (177677, 47.12, 491),
}
