"""Traces and figures by OpenTelemetry, at a real receiver: what they say, and what is nowhere in them."""

from __future__ import annotations

import re
import subprocess
import time
from types import SimpleNamespace

import pytest

from sfumato.concepts import Concept
from sfumato.errors import InputError
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.saving import save_protector
from sfumato.server.telemetry.exporting import check_telemetry
from sfumato.server.telemetry.figures import FIGURES
from sfumato.server.telemetry.traces import NO_TRACE, TRACEPARENT, parent_of
from sfumato.server.tenancy.keys import new_key
from tests.server.receiver import receiving
from tests.server.running import COMMAND, DIM, gateway, save_fake

NAME, TERM = "Zanzibar-Ottoline", "psoriasis"
TEXTS = [f"note {number}: {NAME} has {TERM}" for number in range(3)]
MINE = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
SOON = {"OTEL_BSP_SCHEDULE_DELAY": "100", "OTEL_METRIC_EXPORT_INTERVAL": "300"}


def waited_for(found, seconds=60.0):
    """What a look gives as soon as it gives anything."""
    end = time.monotonic() + seconds
    while not (got := found()) and time.monotonic() < end:
        time.sleep(0.1)
    assert got
    return got


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A gateway with keys that tells, after a few requests; it has stopped when the tests look."""
    folder = tmp_path_factory.mktemp("telemetry")
    made = Protector(
        Laplace.from_noise_ratio(0.5, dim=DIM),
        f"fake:{DIM}",
        concepts=(Concept.from_terms("disease", [TERM, "gout"]),),
        learned={"dim": DIM},
    )
    save_protector(made, folder / "protector")
    key = new_key(folder / "keys.json", "acme")
    with receiving() as received:
        settings = {"OTEL_EXPORTER_OTLP_ENDPOINT": received.url, **SOON}
        options = ("--otel", "--keys", str(folder / "keys.json"), "--max-batch", "5")
        with gateway(folder / "run", folder / "protector", *options, **settings) as running:
            embed = {"input": TEXTS, "model": f"the model {NAME}", "user": NAME}
            _, _, answer = running.ask("POST", "/v1/embeddings", embed, key, {"traceparent": MINE})
            running.embed(TEXTS[0], key, input_type="query")
            running.embed([TERM] * 9, key)
            odd = {"traceparent": MINE + TERM, "tracestate": f"a={TERM}"}
            running.ask("GET", f"/{NAME}?{TERM}", None, key, odd)
            running.ask("POST", "/v1/embeddings", {"input": TERM}, "sk-wrong", {"traceparent": MINE})
            _, _, prometheus = running.ask("GET", "/metrics", None, key)
            waited_for(lambda: len([s for s in received.spans() if "route" in s]) >= 6)
            log = running.log
        yield SimpleNamespace(received=received, key=key, answer=answer, prometheus=prometheus, log=log)


def requests(told, route="/v1/embeddings"):
    return [span for span in told.received.spans() if span.get("route") == route]


def test_a_request_is_a_span_with_its_parts_under_it(told):
    first = next(span for span in requests(told) if span["trace"] == MINE[3:35])
    assert first["name"] == "POST /v1/embeddings" and first["parent"] == MINE[36:52]
    assert (first["status"], first["texts"], first["role"], first["tenant"]) == (200, 3, "document", "acme")
    assert first["received"] > 50 and first["sent"] > 100
    parts = [span for span in told.received.spans() if span["parent"] == first["id"]]
    assert {span["name"] for span in parts} == {"prepare", "embed", "ledger", "release"}
    by_name = {span["name"]: span for span in parts}
    assert by_name["embed"]["texts"] == 24  # eight neutral copies of each
    for name in ("prepare", "ledger", "release"):
        assert by_name[name]["texts"] == 3
    for inner, outer in (("embed", "prepare"), ("ledger", "release")):
        whole, part = by_name[outer], by_name[inner]
        assert whole["begun"] <= part["begun"] <= part["ended"] <= whole["ended"]
    assert all(first["begun"] <= span["begun"] <= span["ended"] <= first["ended"] for span in parts)


def test_what_is_refused_has_a_span_too_and_strangers_name_no_trace(told):
    statuses = sorted(span["status"] for span in requests(told))
    assert statuses == [200, 200, 400]
    others = requests(told, "other")
    assert sorted(span["status"] for span in others) == [401, 404]
    assert not [span for span in others if span["trace"] == MINE[3:35]]
    assert "tenant" not in next(span for span in others if span["status"] == 401)


def test_figures_are_those_that_prometheus_shows(told):
    figures = told.received.figures()
    assert set(figures) == {figure.name for figure in FIGURES}
    shown = dict(
        re.findall(r"^(sfumato_(?:requests|texts_released)_total\{[^}]*\}) (\S+)", told.prometheus, re.M)
    )
    assert len(shown) >= 5
    for name, value in shown.items():
        figure, labels = name.partition("_total{")[::2]
        key = tuple(sorted(re.findall(r'(\w+)="([^"]*)"', labels)))
        assert figures[figure][key] == float(value)
    count, whole = figures["sfumato_batch_texts"][()]
    assert (count, whole) == (2, 4.0)
    assert figures["sfumato_request_seconds"][(("route", "/v1/embeddings"),)][0] == 3


def test_nothing_that_was_sent_is_anywhere_in_what_is_told(told):
    everything = told.received.everything
    assert len(everything) > 2000 and b"acme" in everything
    numbers = [str(number)[:8] for row in told.answer["data"] for number in row["embedding"][:5]]
    for secret in (NAME, TERM, "gout", "note 1", told.key, told.key[:16], "sk-wrong", *numbers):
        assert secret.encode() not in everything
    spans = told.received.spans()
    assert not [span for span in spans if span["events"] or span["state"]]
    assert told.received.resources()[0]["service.name"] == "sfumato-gateway"


def test_it_is_off_unless_it_is_switched_on_with_an_address(tmp_path):
    protector = save_fake(tmp_path / "protector")
    with receiving() as received:
        there = {"OTEL_EXPORTER_OTLP_ENDPOINT": received.url, **SOON}
        with gateway(tmp_path / "run", protector, **there) as running:
            running.embed("a")
        assert not received.bodies
    done = subprocess.run(
        [*COMMAND, "--protector", str(protector), "--state", str(tmp_path / "s"), "--otel"],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 2 and "OTEL_EXPORTER_OTLP_ENDPOINT" in done.stderr
    assert "Traceback" not in done.stderr
    one = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"}
    with pytest.raises(InputError, match="needs an address"):
        check_telemetry(one)
    check_telemetry({**one, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://y"})
    with pytest.raises(InputError, match="http/protobuf"):
        check_telemetry({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})


def test_a_receiver_that_is_away_costs_no_request(tmp_path):
    protector = save_fake(tmp_path / "protector")
    away = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_TIMEOUT": "1", **SOON}
    with gateway(tmp_path / "run", protector, "--otel", **away) as running:
        assert [running.embed(f"text {turn}")[0] for turn in range(5)] == [200] * 5
        assert not [line for line in running.lines() if "text" in line.get("event", "")]


@pytest.mark.parametrize(
    "header",
    ["", MINE.upper(), MINE + "-00", "01" + MINE[2:], MINE.replace("0123456789abcdef", "0" * 16), MINE[:-1],
     "x" * 100_000, f" {MINE}"],
)  # fmt: skip
def test_only_a_plain_traceparent_is_taken(header):
    assert TRACEPARENT.fullmatch(header) is None and parent_of({"traceparent": header}) is None
    assert parent_of({"traceparent": MINE}) is not None


def test_no_trace_does_nothing():
    with NO_TRACE.step("prepare", texts=1):
        NO_TRACE.note("embed", 0, 1, texts=1)
    NO_TRACE.end(method="GET", route="/", status=200)
