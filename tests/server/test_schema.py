"""The schema the gateway publishes, tried out by a machine that knows no mercy."""

from __future__ import annotations

import time

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode

from tests.server.running import gateway, save_fake
from tests.server.sealed import allow

DOCUMENTS = ("documents", "documents/get", "documents/delete")


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    folder = tmp_path_factory.mktemp("schema")
    file = allow(folder / "collections.json", {"local": {"notes": f"memory:{folder}/store"}})
    options = ("--max-batch", "16", "--collections", str(file))
    with gateway(folder / "run", save_fake(folder / "plain"), *options) as found:
        # The console's preview is built now, so that no example finds it half made.
        while not found.ask("GET", "/console/state")[2]["preview"]["complete"]:
            time.sleep(0.2)
        yield found


def tried(operation, mode):
    """The answers to examples of one operation, each of which is checked."""
    seen = set()

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(max_examples=25, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def check(case):
        if "name" in (case.path_parameters or {}) and mode.is_positive:
            case.path_parameters["name"] = "notes"  # another is refused before all else
        answer = case.call()
        seen.add(answer.status_code)
        assert answer.status_code < 500, answer.status_code
        if answer.status_code >= 400:
            assert set(answer.json()["error"]) == {"message", "type", "param", "code"}
        else:
            case.validate_response(answer)

    check()
    return seen


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_no_example_breaks_it(running, mode):
    schema = schemathesis.openapi.from_url(f"{running.url}/openapi.json")
    operations = {found.ok().label: found.ok() for found in schema.get_all_operations()}
    assert set(operations) == {
        "POST /v1/embeddings",
        "GET /v1/models",
        "GET /health",
        "GET /metrics",
        "GET /console/state",
        "POST /console/try",
        "POST /console/sealed",
        "GET /v1/collections",
        *(f"POST /v1/collections/{{name}}/{each}" for each in ("search", *DOCUMENTS)),
        "GET /v1/collections/{name}/documents/{id}",
        "DELETE /v1/collections/{name}/documents/{id}",
    }
    answers = {
        name: tried(each, mode)
        for name, each in operations.items()
        if mode.is_positive or name.startswith("POST")  # without a body nothing can be wrong
    }
    for path in ("search", *DOCUMENTS[1:]):
        seen = answers[f"POST /v1/collections/{{name}}/{path}"]
        assert mode.is_negative or 200 in seen, (path, seen)
    assert 400 in answers["POST /v1/embeddings"] and (
        mode.is_negative or 200 in answers["POST /v1/embeddings"]
    )
