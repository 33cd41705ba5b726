"""LiteLLM's own proxy in a process and an environment of its own, with the example's configuration."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path

import pytest
import yaml

from sfumato.concepts import Concept
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.saving import save_protector
from tests.server.running import free_port, is_up, stop, wait_until_up

ROOT = Path(__file__).parents[3]
PLACE = Path(os.environ.get("SFUMATO_LITELLM", ROOT / ".venv-litellm")) / "bin"
EXAMPLE = ROOT / "examples" / "litellm" / "config.yaml"
MASTER_KEY = "sk-" + os.urandom(24).hex()
SECRET = os.urandom(32).hex()
TERMS = ("psoriasis", "asthma", "gout")
CEILING = 2000.0
DIM = 384
DROPPED = ("OPENAI_API_KEY", "PYTHONDONTWRITEBYTECODE")

# Writes down everything that LiteLLM hands to those who log.
SPY = """
from litellm.integrations.custom_logger import CustomLogger

class Spy(CustomLogger):
    def note(self, *seen):
        with open("seen", "a") as file:
            file.write(repr(seen) + "\\n")

    def log_pre_api_call(self, model, messages, kwargs):
        self.note("before", messages, kwargs)

    def log_post_api_call(self, kwargs, response_obj, start_time, end_time):
        self.note("after", kwargs, response_obj)

    async def async_log_success_event(self, kwargs, response_obj, start_time, end_time):
        self.note("success", kwargs, response_obj)

    async def async_log_failure_event(self, kwargs, response_obj, start_time, end_time):
        self.note("failure", kwargs, response_obj)

    async def async_post_call_failure_hook(self, request_data, original_exception, *rest, **more):
        self.note("refused", request_data, original_exception, more.get("traceback_str"))

spy = Spy()
"""


def require_proxy() -> None:
    """`make test` makes the environment."""
    if not (PLACE / "litellm").exists():
        pytest.skip("LiteLLM's proxy is not installed: make .venv-litellm/.installed")


def save_placeholders(folder: Path) -> Protector:
    """A protector of diseases that sends one neutral text for each text."""
    made = Protector(
        Laplace.from_noise_ratio(0.5, dim=DIM),
        None,
        concepts=(Concept.from_terms("disease", TERMS),),
        neutral_by="placeholder",
        learned={"dim": DIM},
    )
    save_protector(made, folder)
    return made


def environment(**more: str) -> dict[str, str]:
    """Nothing of LiteLLM's leaves the machine."""
    kept = {name: value for name, value in os.environ.items() if name not in DROPPED}
    quiet = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False", "no_proxy": "*"}
    secrets = {"LITELLM_MASTER_KEY": MASTER_KEY, "SFUMATO_SECRET": SECRET, "UPSTREAM_KEY": "unused"}
    path = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**kept, **quiet, **secrets, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **more}


def write_config(folder: Path) -> None:
    """The example as it is, with a ceiling, models whose upstream fails, a cache, and somebody who logs."""
    config = yaml.safe_load(EXAMPLE.read_text())
    usual = config["model_list"][0]
    for name in ("down", "short", "narrow", "open", "nobody"):
        config["model_list"].append(
            {"model_name": name, "litellm_params": {**usual["litellm_params"], "model": f"openai/{name}"}}
        )
    own = config["guardrails"][0]["litellm_params"]["sfumato"]
    own |= {"ceiling": CEILING, "unprotected": ["open"], "max_inputs": 50, "max_characters": 1000}
    own["models"] += ["down", "short", "narrow"]
    config["litellm_settings"] = {
        "callbacks": ["spy.spy"], "cache": True, "cache_params": {"type": "local"}, "num_retries": 0,
        "fallbacks": [{"down": ["open"]}],
    }  # fmt: skip
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    (folder / "spy.py").write_text(SPY)


@contextlib.contextmanager
def proxy(folder: Path, upstream: str):
    """Run the proxy until the block ends, and give its address."""
    write_config(folder)
    port = free_port()
    command = [str(PLACE / "litellm"), "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)]
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=log, env=environment(UPSTREAM_URL=upstream)
        )
    try:
        wait_until_up(process, port, folder, lambda port: is_up(port, "/health/liveliness"), tries=6000)
        yield f"http://127.0.0.1:{port}"
    finally:
        stop(process)
