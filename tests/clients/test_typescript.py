"""The TypeScript client: built, run by node against a real gateway, and ready to be published."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sfumato.saving import load_protector
from sfumato.server.tenancy.keys import new_key
from sfumato.version import __version__
from tests.server.running import gateway, save_fake
from tests.server.sealed import allow

SOURCE = Path(__file__).parents[2] / "clients" / "typescript"
PAGES = (SOURCE / "README.md", SOURCE.parents[1] / "docs" / "typescript.md")
SHOWN = ("http://127.0.0.1:8000", "sfm-YOUR-KEY")
KEPT = {"package.json", "README.md", "LICENSE"}

pytestmark = [
    pytest.mark.timeout(900),  # the compiler is fetched first
    pytest.mark.skipif(not all(map(shutil.which, ("node", "npm"))), reason="node and npm are not installed"),
]


def run(folder, *command, **variables):
    environment = {**os.environ, "no_proxy": "*", **variables}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The client in a folder of its own, with its compiler, built; then what must compile against that."""
    folder = tmp_path_factory.mktemp("typescript") / "client"
    shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    run(folder, "npm", "ci", "--ignore-scripts", "--prefer-offline", "--loglevel=error")
    compiler = ("node", "node_modules/typescript/bin/tsc", "-p")
    run(folder, *compiler, "tsconfig.json")
    (folder / "shown").mkdir()
    for page in PAGES:
        (folder / "shown" / f"{page.stem}.ts").write_text(shown(page))
    run(
        folder, *compiler, "tsconfig.check.json"
    )  # also sees that each wrong use in test/types.ts is an error
    return folder


def shown(page):
    """The blocks of a page as one program; where it is and its key come from outside."""
    found = "\n".join(re.findall(r"```ts\n(.*?)```", page.read_text(), re.DOTALL))
    assert all(each in found for each in SHOWN)
    return found


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A gateway with an ordinary tenant, one that may ask for clean queries, and one with a small budget."""
    folder = tmp_path_factory.mktemp("gateway")
    protector, keys = save_fake(folder / "mild"), folder / "keys.json"
    cost = load_protector(protector).guarantee.worst_case_l2
    made = {
        "SFUMATO_KEY": new_key(keys, "acme"),
        "SFUMATO_OPEN_KEY": new_key(keys, "open", clean_queries=True),
        "SFUMATO_STRICT_KEY": new_key(keys, "strict", ceiling=1.5 * cost),
    }
    store = {"acme": {"notes": f"memory:{folder}/store"}, "open": {"others": f"memory:{folder}/others"}}
    collections = allow(folder / "collections.json", store)
    options = ("--keys", str(keys), "--collections", str(collections), "--max-batch", "16", "--no-console")
    with gateway(folder / "run", protector, *options) as found:
        yield found, {**made, "SFUMATO_URL": found.url}


def test_everything_node_tests(package, running):
    found, variables = running
    told = run(
        package,
        "node",
        "--test",
        "--test-reporter=tap",
        *map(str, sorted((package / "test").glob("*.test.mjs"))),
        **variables,
    )
    assert re.search(r"^# fail 0$", told, re.M) and re.search(r"^# skipped 0$", told, re.M), told
    assert int(re.search(r"^# pass (\d+)$", told, re.M)[1]) >= 20
    assert "Lisbon" not in found.log and variables["SFUMATO_KEY"] not in found.log


def test_types_are_those_of_the_gateways_schema(package, running):
    found, variables = running
    made = run(package, "node", "scripts/schema.mjs", found.url)
    assert made == (SOURCE / "src" / "schema.ts").read_text(), (
        "The gateway's schema has changed: run `npm run --silent schema URL > src/schema.ts`."
    )


def test_what_would_be_published(package):
    (told,) = json.loads(run(package, "npm", "pack", "--dry-run", "--json", "--ignore-scripts"))
    names = {each["path"] for each in told["files"]}
    sources = {path.stem for path in (SOURCE / "src").glob("*.ts")}
    built = {f"dist/{name}.{kind}" for name in sources for kind in ("js", "d.ts")}
    assert names == KEPT | built
    assert told["name"] == "sfumato-client" and told["version"] == __version__


def test_the_package_has_no_dependencies_and_names_no_registry():
    package = json.loads((SOURCE / "package.json").read_text())
    assert not {"dependencies", "peerDependencies", "optionalDependencies"} & set(package)
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", pin) for pin in package["devDependencies"].values())
    assert package["version"] == __version__ and package["license"] == "Apache-2.0"
    assert "http" not in (SOURCE / "package-lock.json").read_text()
    assert (SOURCE / "LICENSE").read_text() == (SOURCE.parents[1] / "LICENSE").read_text()
    assert not re.search(r"\bconsole\.", "".join(path.read_text() for path in (SOURCE / "src").glob("*.ts")))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_the_pages_show_runs(package, running, page):
    script, (_, variables) = package / "checked" / "shown" / f"{page.stem}.js", running
    program = script.read_text()
    for example, own in zip(SHOWN, ("SFUMATO_URL", "SFUMATO_KEY"), strict=True):
        program = program.replace(example, variables[own])
    script.write_text(program)
    printed = run(package, "node", f"checked/shown/{script.name}")
    claims = re.findall(r"console\.log\(.*?\);\s+// (.+)", shown(page))
    assert claims and printed.splitlines()[: len(claims)] == claims
