"""Check and time the device path on a GPU, in under three minutes: python benchmarks/gpu.py -o gpu.json

Needs numpy, torch and triton. Where scipy is missing the laws are not verified, and the file says so; where
cryptography is missing a stand-in keys the noise of this benchmark, and only of this benchmark.

Checks: known answers, Triton against plain torch on the GPU and on the CPU bit for bit, the normal law in
10^8 draws, then `verify` with its bit-level attack on GPU output. Times: medians of interleaved rounds
between CUDA events, against a copy of the same bytes and against torch's own float32 randn and add.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import math
import statistics
import sys
import time
import types
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

STARTED = time.perf_counter()


def stand_in_for_cryptography() -> None:
    """Key noise from SHAKE-256 where OpenSSL's bindings are not installed."""

    class Context:
        def __init__(self, seed: bytes) -> None:
            self.seed, self.calls = seed, 0

        def update_into(self, zeros: memoryview, out: memoryview) -> None:
            self.calls += 1
            drawn = hashlib.shake_256(self.seed + self.calls.to_bytes(8, "big")).digest(len(zeros))
            memoryview(out).cast("B")[: len(zeros)] = drawn

    class Cipher:
        def __init__(self, algorithm: bytes, mode: bytes | None) -> None:
            self.seed = algorithm + (mode or b"")

        def encryptor(self) -> Context:
            return Context(self.seed)

    names = ["cryptography", "cryptography.hazmat", "cryptography.hazmat.primitives"]
    for name in names:
        sys.modules[name] = types.ModuleType(name)
    made: Any = types.ModuleType("cryptography.hazmat.primitives.ciphers")
    made.Cipher, made.CipherContext = Cipher, Context
    made.algorithms = types.SimpleNamespace(
        AES=lambda key: b"aes" + key, ChaCha20=lambda key, nonce: key + nonce
    )
    made.modes = types.SimpleNamespace(CTR=lambda nonce: bytes(nonce))
    sys.modules["cryptography.hazmat.primitives.ciphers"] = made


MISSING = [name for name in ("cryptography", "scipy", "triton") if importlib.util.find_spec(name) is None]
if "cryptography" in MISSING:
    stand_in_for_cryptography()

from sfumato.gpu import on_device, plain, privatize  # noqa: E402
from sfumato.gpu.chacha import keystream, permute  # noqa: E402
from sfumato.gpu.coefficients import NORMALS, ROUNDS  # noqa: E402
from sfumato.gpu.gate import row_norms, watch  # noqa: E402
from sfumato.gpu.plans import plan_of  # noqa: E402
from sfumato.gpu.streams import Streams, open_streams  # noqa: E402
from sfumato.mechanisms import Gaussian, Laplace, Mahalanobis, Mechanism, Polar, Purkayastha  # noqa: E402
from sfumato.randomness import RowKeys, Source, generator  # noqa: E402
from sfumato.sensitivity import Dense, Factored, Mask  # noqa: E402

RFC_KEY = bytes(range(32))
RFC_STATE = (1, 0x09000000, 0x4A000000, 0)
RFC_ANSWER = (
    "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
    "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"
)
SWEEP = [(32, 1), (64, 1), (64, 2), (128, 1), (128, 2), (128, 4), (256, 2), (256, 4), (256, 8), (512, 8)]


def mechanisms(dim: int) -> dict[str, Mechanism]:
    rng = generator(dim)
    sparse = Mask(np.where(np.arange(dim) % 5 == 0, 1.0, 0.0))
    factors = rng.standard_normal((dim, min(dim, 64))) / 4
    basis = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    covariance = (basis * np.linspace(0.1, 1.9, dim)) @ basis.T
    return {
        "laplace": Laplace(epsilon=float(dim)),
        "mahalanobis, mask": Mahalanobis(epsilon=float(dim), shape=sparse),
        "gaussian": Gaussian(sigma=0.05),
        "polar": Polar(epsilon=float(dim)),
        "polar, with radius": Polar(epsilon=float(dim), radius_epsilon=20.0),
        "purkayastha": Purkayastha(epsilon=float(dim)),
        "mahalanobis, rank 64": Mahalanobis(epsilon=float(dim), shape=Factored(np.full(dim, 0.3), factors)),
        "mahalanobis, dense": Mahalanobis(epsilon=float(dim), shape=Dense((covariance + covariance.T) / 2)),
    }


PRODUCTS = ("mahalanobis, rank 64", "mahalanobis, dense")
"""A matrix product of a GPU and one of a CPU need not round alike."""


class Run:
    """Where results go, and how much time is left."""

    def __init__(self, path: Path, device: str, seconds: float, small: bool) -> None:
        self.path, self.device, self.seconds, self.small = path, torch.device(device), seconds, small
        self.on_gpu = self.device.type == "cuda"
        # On a CPU the kernels can only be interpreted, which times nothing.
        self.triton = "triton" not in MISSING and self.on_gpu
        self.result: dict[str, Any] = {
            "torch": torch.__version__,
            "numpy": np.__version__,
            "triton": __import__("triton").__version__ if "triton" not in MISSING else None,
            "device": torch.cuda.get_device_name() if self.on_gpu else "cpu",
            "missing": MISSING,
            "checks": {},
        }

    def left(self) -> float:
        return self.seconds - (time.perf_counter() - STARTED)

    def save(self) -> None:
        self.result["seconds"] = round(time.perf_counter() - STARTED, 1)
        self.path.write_text(json.dumps(self.result, indent=1))

    def check(self, claim: str, holds: bool, **details: Any) -> None:
        self.result["checks"][claim] = {"holds": bool(holds), **details}
        print(
            f"{time.perf_counter() - STARTED:6.1f}s {'ok  ' if holds else 'FAIL'} {claim} {details or ''}",
            flush=True,
        )

    def vectors(self, rows: int, dim: int) -> torch.Tensor:
        drawn = torch.randn(rows, dim, device=self.device)
        return drawn.div_(torch.linalg.vector_norm(drawn, dim=1, keepdim=True))

    def wait(self) -> None:
        if self.on_gpu:
            torch.cuda.synchronize()


def known_answers(run: Run) -> None:
    words = np.frombuffer(b"expand 32-byte k" + RFC_KEY, "<i4").tolist() + list(RFC_STATE)
    state = torch.tensor(words, dtype=torch.int32, device=run.device)[:, None]
    found = permute(state)[:, 0].cpu().numpy().astype("<i4").tobytes().hex()
    run.check("plain torch gives RFC 8439's known answer", found == RFC_ANSWER)
    keys = torch.tensor(np.frombuffer(RFC_KEY, "<i4").astype(np.int32), device=run.device)[None]
    for keyed, first in ((False, 2**33 + 1), (True, 0)):
        streams = Streams(keys, 1 if keyed else 999, keyed, first)
        here = keystream(replace(streams, keys=keys.cpu()), NORMALS, 7).permute(1, 2, 0)
        run.check(f"keystream on the device equals the CPU's, keyed {keyed}", torch.equal(
            keystream(streams, NORMALS, 7).permute(1, 2, 0).cpu(), here))  # fmt: skip
        if run.triton:
            from sfumato.gpu import fused

            same = torch.equal(fused.keystream(streams, NORMALS, 7).cpu(), here)
            run.check(f"keystream of the kernel equals plain torch, keyed {keyed}", same)


def same_samples(run: Run, dim: int, rows: int) -> None:
    """Samples before the grid, which would hide a last bit."""
    streams = open_streams(12, rows, run.device)
    here = replace(streams, keys=streams.keys.cpu())
    cpu = torch.device("cpu")

    def law(mechanism: Mechanism, device: torch.device) -> Any:
        plan: Any = plan_of(mechanism, dim, device)
        return plan.law

    polar, angular = Polar(epsilon=float(dim), radius_epsilon=20.0), Purkayastha(epsilon=float(dim))
    draws: dict[str, Callable[[Any, Streams, torch.device], torch.Tensor]] = {
        "normals": lambda backend, own, place: backend.normals(own, dim, NORMALS),
        "row scales": lambda backend, own, place: backend.row_scales(own, dim, 0.1),
        "polar turns": lambda backend, own, place: backend.turns(own, law(polar, place)),
        "purkayastha turns": lambda backend, own, place: backend.turns(own, law(angular, place)),
    }
    for name, draw in draws.items():
        expected = draw(plain, here, cpu)
        found = {"plain torch on the device": draw(plain, streams, run.device).cpu()}
        if run.triton:
            from sfumato.gpu import fused

            found["the kernel"] = draw(fused, streams, run.device).cpu()
        for who, values in found.items():
            differ = int((values != expected).sum())
            run.check(
                f"{name}, {dim}: {who} equals the CPU before the grid",
                differ == 0,
                differ=differ,
                of=expected.numel(),
                largest=float((values - expected).abs().max()),
            )


def same_bits(run: Run, dim: int, rows: int) -> None:
    x = run.vectors(rows, dim)
    for name, mechanism in mechanisms(dim).items():
        plainly = privatize(mechanism, x, 11, backend="plain")
        if run.triton:
            fused = privatize(mechanism, x, 11, backend="triton")
            differ = int((fused != plainly).sum())
            run.check(f"{name}, {dim}: Triton equals plain torch on the device", differ == 0, differ=differ)
        on_cpu = privatize(mechanism, x.cpu(), 11, backend="plain")
        differ, product = int((plainly.cpu() != on_cpu).sum()), name in PRODUCTS
        allowed = max(1, on_cpu.numel() // 1_000_000) if product else 0
        run.check(f"{name}, {dim}: device equals CPU", differ <= allowed, differ=differ, of=on_cpu.numel())
    placed = on_device(Laplace(epsilon=float(dim)), str(run.device))
    keys = generator(1).integers(0, 256, (rows, 32), dtype=np.uint8)
    whole = privatize(placed, x, RowKeys(keys))
    part = privatize(placed, x[5:9], RowKeys(keys[5:9]))
    alone = privatize(placed, x, RowKeys(keys), backend="plain")
    run.check(f"keyed noise of a row depends on its key alone, {dim}", torch.equal(part, whole[5:9]))
    run.check(f"keyed, {dim}: the default backend equals plain torch", torch.equal(alone, whole))


def normal_law(run: Run, rows: int) -> None:
    """Moments, tails and a chi-square over 4096 equally likely cells of many normals."""
    dim = 768
    backend: Any = plain
    if run.triton:
        from sfumato.gpu import fused as backend
    drawn = backend.normals(open_streams(None, rows, run.device), dim, NORMALS)
    count = drawn.numel()
    moments = [float((drawn**power).mean()) for power in (1, 2, 3, 4)]
    # Variances of the first four powers of a normal: 1, 2, 15, 96.
    expected = zip(moments, (0, 1, 0, 3), (1, 2, 15, 96), strict=True)
    scores = [(found - true) * math.sqrt(count / variance) for found, true, variance in expected]
    run.check(
        "moments of the normals", max(map(abs, scores)) < 7, z=[round(score, 2) for score in scores], of=count
    )
    cells = (torch.special.ndtr(drawn) * 4096).long().clamp_(0, 4095).flatten()
    seen = torch.bincount(cells, minlength=4096).double()
    chi = float(((seen - count / 4096) ** 2).sum() / (count / 4096))
    score = (chi - 4095) / math.sqrt(2 * 4095)
    run.check("4096 equally likely cells, chi-square", abs(score) < 7, z=round(score, 2))
    tail = int((drawn.abs() > 5.0).sum())
    expected_tail = count * math.erfc(5.0 / math.sqrt(2.0))
    score = (tail - expected_tail) / math.sqrt(expected_tail)
    run.check("beyond 5 standard deviations", abs(score) < 7, found=tail, expected=round(expected_tail, 1))
    along = float((drawn[:, :-1] * drawn[:, 1:]).mean()) * math.sqrt(count)
    down = float((drawn[:-1] * drawn[1:]).mean()) * math.sqrt(count)
    run.check(
        "neighbours are uncorrelated", max(abs(along), abs(down)) < 7, z=[round(along, 2), round(down, 2)]
    )


def verify(run: Run, wanted: Callable[[Any], bool], seconds: float) -> None:
    """`sfumato verify`, reduced, on releases drawn on the device."""
    if "scipy" in MISSING:
        run.result["verify"] = "scipy is not installed: laws were not verified"
        return
    from sfumato.verification.bits import check_bits, check_control
    from sfumato.verification.cases import CASES
    from sfumato.verification.epsilon import check_epsilon
    from sfumato.verification.fit import check_law

    source, rng = Source(), generator()
    done = run.result.setdefault("verified", [])
    for name in ("laplace", "mahalanobis", "polar", "gaussian", "purkayastha", "projection"):
        for case in CASES[name](True):
            label = f"verify {case.label}, {case.layer}, {case.dim}"
            if case.layer == "tokens" or not wanted(case) or label in done:
                continue
            if run.left() < seconds:
                run.result["verify"] = f"stopped before {label}: out of time"
                return
            placed = replace(case, mechanism=on_device(case.mechanism, str(run.device)))
            if case.layer == "epsilon":
                rows = check_epsilon(placed, 20_000, source)
            elif case.layer == "law":
                rows = check_law(placed, 10_000 if case.dim <= 8 else 4_000, source, rng)
            else:
                rows = check_bits(placed, 50, 1_000, source, rng)
            failed = [f"{row.check}: {row.measured}" for row in rows if not row.passed]
            done.append(label)
            run.check(label, not failed, rows=len(rows), **({"failed": failed} if failed else {}))
    if "control" not in done:
        done.append("control")
        control = check_control(50, 1_000, rng)
        run.check(
            "the bit-level attack works on a plain float32 sum", control.passed, measured=control.measured
        )


def interleaved(run: Run, calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Median milliseconds of each call; every round runs all of them, and starts one place later."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    names = list(calls)
    for name in names:
        calls[name]()
    run.wait()
    for number in range(rounds):
        for place in range(len(names)):
            name = names[(place + number) % len(names)]
            if run.on_gpu:
                start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                start.record()
                calls[name]()
                end.record()
                end.synchronize()
                times[name].append(start.elapsed_time(end))
            else:
                began = time.perf_counter()
                calls[name]()
                times[name].append((time.perf_counter() - began) * 1e3)
    return {name: statistics.median(values) for name, values in times.items()}


def timings(run: Run, dim: int, rows: int, rounds: int) -> None:
    x = run.vectors(rows, dim)
    out, noise = torch.empty_like(x), torch.empty_like(x)

    def noisy() -> None:
        torch.randn(noise.shape, out=noise)
        torch.add(x, noise, out=out)

    calls: dict[str, Callable[[], Any]] = {"copy": lambda: out.copy_(x), "randn + add": noisy}
    for name, mechanism in mechanisms(dim).items():
        calls[name] = lambda mechanism=mechanism: privatize(mechanism, x)
    # Parts of a Laplace release, to see where its time goes.
    streams = open_streams(None, rows, run.device)
    plan: Any = plan_of(Laplace(epsilon=float(dim)), dim, run.device)
    calls["part: norms in a pass of their own"] = lambda: watch(x, row_norms(x), 1.0)()
    if run.triton:
        from sfumato.gpu import fused

        scales = fused.row_scales(streams, dim, plan.scale)
        calls["part: row scales"] = lambda: fused.row_scales(streams, dim, plan.scale)
        for number in (2, 8, 12, ROUNDS):
            calls[f"part: add kernel, {number} rounds"] = lambda number=number: fused.add(
                x, out, streams, scales, None, None, True, plan.step, rounds=number
            )
    found = interleaved(run, calls, rounds)
    copy = found["copy"]
    bandwidth = 8 * rows * dim / copy / 1e9
    table = {}
    for name, spent in found.items():
        table[name] = {
            "ms": round(spent, 4),
            "x copy": round(spent / copy, 3),
            "x randn + add": round(spent / found["randn + add"], 3),
            "million vectors/s": round(rows / spent / 1e3, 2),
        }
        if name in mechanisms(8) or name.startswith("part: add"):
            table[name]["bound"] = "bytes" if spent < 1.4 * copy else "arithmetic"
    run.result.setdefault("times", {})[str(dim)] = {
        "rows": rows,
        "copy TB/s": round(bandwidth, 3),
        "table": table,
    }
    print(f"\nd = {dim}, {rows:,} rows, copy {bandwidth:.2f} TB/s")
    for name, row in table.items():
        print(
            f"  {name:32s} {row['ms']:9.3f} ms {row['x copy']:7.2f} x copy "
            f"{row['x randn + add']:7.2f} x randn+add {row['million vectors/s']:9.1f} M/s  "
            f"{row.get('bound', '')}"
        )


def sweep(run: Run, dim: int, rows: int, rounds: int) -> None:
    """Lanes a program and warps for the two heavy kernels."""
    from sfumato.gpu import fused

    x = run.vectors(rows, dim)
    out = torch.empty_like(x)
    streams = open_streams(None, rows, run.device)
    plan: Any = plan_of(Laplace(epsilon=float(dim)), dim, run.device)
    scales = fused.row_scales(streams, dim, plan.scale)
    calls: dict[str, Callable[[], Any]] = {"copy": lambda: out.copy_(x)}
    for lanes, warps in SWEEP:
        launch = fused.Launch(lanes, warps)
        calls[f"add {lanes} lanes, {warps} warps"] = lambda launch=launch: fused.add(
            x, out, streams, scales, None, None, True, plan.step, launch=launch
        )
    turned: Any = plan_of(Polar(epsilon=float(dim)), dim, run.device)
    angles = fused.turns(streams, turned.law)

    def turn(warps: int) -> None:
        before, fused.TURN_WARPS = fused.TURN_WARPS, warps
        try:
            fused.turn(x, out, streams, angles, 0.0, turned.step)
        finally:
            fused.TURN_WARPS = before

    for warps in (1, 2, 4):
        calls[f"turn {warps} warps"] = lambda warps=warps: turn(warps)
    ready = {}
    for name, call in calls.items():
        if run.left() < 40:
            print(f"  sweep: no time left for {name}")
            break
        call()
        ready[name] = call
    found = interleaved(run, ready, rounds)
    ratios = {name: round(spent / found["copy"], 3) for name, spent in found.items()}
    run.result.setdefault("sweep", {})[str(dim)] = ratios
    best = min((name for name in ratios if name.startswith("add")), key=ratios.__getitem__, default="")
    print(
        f"\nsweep, d = {dim}, x copy: " + ", ".join(f"{name}: {ratio:.2f}" for name, ratio in ratios.items())
    )
    print(f"  best: {best}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=Path("gpu.json"))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--seconds", type=float, default=170.0)
    parser.add_argument("--small", action="store_true", help="few rows, to try the script itself")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    run = Run(options.output, options.device, options.seconds, options.small)
    small = options.small or not run.on_gpu
    parts: list[tuple[str, Callable[[], None]]] = [
        ("known answers", lambda: known_answers(run)),
        ("same samples, 768", lambda: same_samples(run, 768, 1000)),
        ("same bits, 768", lambda: same_bits(run, 768, 100)),
        ("normal law", lambda: normal_law(run, 1 << (9 if small else 17))),
        ("times, 768", lambda: timings(run, 768, 1 << (9 if small else 20), 3 if small else 15)),
        ("times, 384", lambda: timings(run, 384, 1 << (10 if small else 21), 3 if small else 15)),
        ("verify, bits", lambda: verify(run, lambda case: case.dim == 384 and case.layer == "bits", 40.0)),
        ("sweep", lambda: sweep(run, 768, 1 << (9 if small else 19), 11) if run.triton else None),
        ("same samples, 13", lambda: same_samples(run, 13, 3000)),
        ("same bits, 13", lambda: same_bits(run, 13, 130)),
        ("verify", lambda: verify(run, lambda case: case.dim in (3, 384), 8.0)),
    ]  # fmt: skip
    for name, part in parts:
        try:
            part()
        except Exception as error:  # one broken part must not cost the figures of the others
            run.check(f"{name} ran", False, error=f"{type(error).__name__}: {error}"[:400])
        run.save()
    failed = [claim for claim, found in run.result["checks"].items() if not found["holds"]]
    spent = run.result["seconds"]
    print(f"\n{len(run.result['checks'])} checks, {len(failed)} failed, {spent} s -> {options.output}")
    for claim in failed:
        print(f"FAILED {claim} {run.result['checks'][claim]}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
