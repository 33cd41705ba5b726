"""The guardrail without a proxy: its settings, what it reads, what it makes of an answer."""

from __future__ import annotations

import base64
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest

from sfumato.accounting import Secret
from sfumato.adapters.litellm.asked import keep_out_of_logs, read_asked, show_in_logs, taken_out
from sfumato.adapters.litellm.releasing import ReleasingGuard
from sfumato.adapters.litellm.settings import GuardrailSettings
from sfumato.concepts import Concept
from sfumato.embedders import Fake
from sfumato.errors import BudgetError, EndpointError, InputError, ParameterError
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.saving import load_protector, save_protector
from tests.adapters.litellm import running

DIM = 16
TEXTS = ["Ann has gout.", "Bob came late.", "Ann has asthma."]


@pytest.fixture
def given(tmp_path):
    """What stands in a configuration file, with a protector of eight neutral copies."""
    made = Protector(
        Laplace.from_noise_ratio(0.5, dim=DIM),
        None,
        concepts=(Concept.from_terms("disease", ["asthma", "gout", "psoriasis"]),),
        neutral=3,
        learned={"dim": DIM},
    )
    save_protector(made, tmp_path / "protector")
    Secret.from_file(tmp_path / "secret", create=True)
    return {
        "protector": str(tmp_path / "protector"),
        "secret": f"file:{tmp_path / 'secret'}",
        "ledger": str(tmp_path / "ledger.sqlite"),
        "models": ["notes"],
    }


def asked(given, texts, **fields):
    return read_asked(fields, texts, GuardrailSettings.read(given))


def answered(pending):
    """An upstream's rows for what it is sent."""
    rows = Fake(dim=DIM).embed(pending.sent)
    return [{"index": index, "embedding": row.tolist()} for index, row in enumerate(rows)]


def test_copies_are_sent_once_each_and_their_mean_is_released(given):
    guard = ReleasingGuard(GuardrailSettings.read(given))
    pending = guard.neutral(asked(given, TEXTS))
    assert pending.sent == ["Ann has asthma.", "Ann has gout.", "Ann has psoriasis.", "Bob came late."]
    pending.settle(answered(pending))
    rows = np.array(pending.answer(), np.float32)
    clean = Fake(dim=DIM).embed(pending.sent).astype(np.float64)
    mean = clean[:3].sum(axis=0) / np.linalg.norm(clean[:3].sum(axis=0))
    own = load_protector(given["protector"], secret=Secret.from_file(given["secret"].removeprefix("file:")))
    entering = np.array([mean, clean[3], mean], np.float32)
    assert rows.tobytes() == own.protect(entering, matched=np.array([True, False, True])).tobytes()
    pending.settle([])  # a second answer changes nothing
    assert np.array(pending.answer(), np.float32).tobytes() == rows.tobytes()


def test_another_vector_behind_the_same_name_has_other_noise_and_is_charged(given):
    guard = ReleasingGuard(GuardrailSettings.read({**given, "ceiling": 70.0}))
    made = []
    for turn in range(3):
        pending = guard.neutral(asked(given, ["Bob came late."]))
        rows = answered(pending)
        if turn == 2:
            rows[0]["embedding"][0] += 1e-4
        pending.settle(rows)
        made.append(pending.answer()[0])
    assert made[0] == made[1] and np.linalg.norm(np.subtract(made[0], made[2])) > 0.05
    pending = guard.neutral(asked(given, ["Bob came late."]))
    rows = answered(pending)
    rows[0]["embedding"][1] += 1e-4
    pending.settle(rows)
    with pytest.raises(BudgetError):
        pending.answer()


@pytest.mark.parametrize(
    "rows",
    [None, [], [{"index": 0}], [{"index": 1, "embedding": [1.0] * DIM}], [{"index": 0, "embedding": "x!"}],
     [{"index": 0, "embedding": [1.0] * 3}], [{"index": 0, "embedding": [float("nan")] * DIM}],
     [{"index": 0, "embedding": [0.0] * DIM}], [{"index": 0, "embedding": ["a"] * DIM}]],
)  # fmt: skip
def test_an_answer_that_is_none_is_refused_and_charges_nothing(given, rows):
    guard = ReleasingGuard(GuardrailSettings.read(given))
    pending = guard.neutral(asked(given, "a"))
    pending.settle(rows)
    with pytest.raises(EndpointError, match="^The upstream"):
        pending.answer()
    assert guard._protector.spent("a").releases == 0


def test_base64_both_ways_and_shortened(given):
    guard = ReleasingGuard(GuardrailSettings.read(given))
    pending = guard.neutral(asked(given, "a", encoding_format="base64", dimensions=4))
    row = Fake(dim=DIM).embed(["a"])[0]
    pending.settle([{"index": 0, "embedding": base64.b64encode(row.tobytes()).decode()}])
    found = np.frombuffer(base64.b64decode(pending.answer()[0]), "<f4")
    assert found.shape == (4,) and np.isclose(np.linalg.norm(found), 1.0, atol=1e-6)
    with pytest.raises(InputError, match="from 1 to 16"):
        pending = guard.neutral(asked(given, "a", dimensions=17))
        pending.settle(answered(pending))
        pending.answer()
    with pytest.raises(InputError, match="at most 2 neutral texts. Found 3"):
        ReleasingGuard(GuardrailSettings.read({**given, "max_inputs": 2})).neutral(asked(given, TEXTS[0]))


@pytest.mark.parametrize(
    "change",
    [{"secret": ""}, {"ledger": None}, {"models": []}, {"models": "notes"}, {"unprotected": ["notes"]},
     {"epsilon": 1}, {"max_inputs": 0}],
)  # fmt: skip
def test_settings_that_would_leave_something_out_are_refused(given, change):
    with pytest.raises(ParameterError):
        GuardrailSettings.read({**given, **change})


def test_texts_leave_every_record_of_a_request():
    logged = SimpleNamespace(messages=["gout"], model_call_details={"messages": ["gout"]}, noted=[])
    logged.post_call = lambda original_response, **more: logged.noted.append((original_response, more))
    sent = {"input": ["gout"], "title": "gout", "model": "notes"}
    data = {**sent, "litellm_logging_obj": logged, "proxy_server_request": {"body": dict(sent)}}
    known = frozenset({"litellm_logging_obj", "proxy_server_request"})
    assert taken_out(data, known) == (["gout"], True)
    assert "gout" not in repr({**data, "litellm_logging_obj": vars(logged)})
    show_in_logs(logged, ["something"])
    assert logged.messages == logged.model_call_details["messages"] == ["something"]
    keep_out_of_logs(logged)
    logged.post_call(original_response="[0.1, 0.2]", api_key="k")
    assert logged.noted == [("", {"api_key": "k"})]


# LiteLLM goes on without a guardrail whose settings raise a ValueError or a TypeError.
STARTS = """
import os, sys, yaml
from litellm.proxy.guardrails.init_guardrails import init_guardrails_v2
usual = yaml.safe_load(open(sys.argv[1]))["guardrails"]
changes = [
    ("sfumato", None),
    ("sfumato", {"protector": "nowhere", "secret": "env:S", "ledger": "x", "models": ["m"]}),
    ("default_on", False), ("mode", "pre_call"), ("mode", ["pre_call", "during_call"]),
    ("run_in_parallel", True), ("scan_raw_request", True), ("fine", "fine"),
]
for name, value in changes:
    own = [{"guardrail_name": "n", "litellm_params": {**usual[0]["litellm_params"], name: value}}]
    try:
        init_guardrails_v2(all_guardrails=own, config_file_path="config.yaml")
        print("guardrail", name, "starts")
    except (ValueError, TypeError) as error:
        print("guardrail", name, "raises what LiteLLM overlooks")
    except Exception as error:
        print("guardrail", name, "stops", type(error).__name__)
"""


@pytest.mark.timeout(900)
def test_a_guardrail_that_cannot_be_made_stops_the_proxy(tmp_path):
    running.require_proxy()
    running.save_placeholders(tmp_path / "diseases")
    done = subprocess.run(
        [str(running.PLACE / "python"), "-c", STARTS, str(running.EXAMPLE)],
        cwd=tmp_path, env=running.environment(), capture_output=True, text=True, timeout=850,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith("guardrail ")]
    assert [line.split()[2] for line in lines] == ["stops"] * 7 + ["starts"], done.stdout + done.stderr
    assert (
        "torch"
        not in subprocess.run(
            [str(running.PLACE / "python"), "-m", "pip", "list"], capture_output=True, text=True, check=True
        ).stdout
    )
