"""A release: built twice and equal, only what it should hold, and documents that say what is true."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from release import hashes
from release.building import Checkout, build, digest
from release.check import main, release_check
from release.contents import check_sdist, check_wheel
from release.documents import PROVENANCE, SBOM, SUMS
from release.pins import Pin, ReleaseError, read_pins, write_pins
from release.versions import check_versions

ROOT = Path(__file__).parents[1]
LARGE = shutil.ignore_patterns(
    ".git", ".venv", ".carry*", "*cache*", ".hypothesis", "*.safetensors.zst", "build", "dist"
)


def git(folder, *arguments):
    who = ["-c", "user.name=A", "-c", "user.email=a@b.invalid", "-c", "commit.gpgsign=false"]
    # A repository of its own, never the one this tree is in, whatever a hook or a worktree says.
    alone = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    alone |= {"GIT_DIR": str(folder / ".git"), "GIT_WORK_TREE": str(folder)}
    assert not (folder / ".git").is_file()
    subprocess.run(["git", *who, *arguments], cwd=folder, env=alone, check=True, capture_output=True)


def commit(folder):
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "State")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """This tree as one commit, without the weights' and studies' own files."""
    folder = tmp_path_factory.mktemp("checkout") / "sfumato"
    names = ("src", "docs", "release", "requirements", "action", "examples", "benchmarks")
    folder.mkdir()
    for name in names:
        shutil.copytree(ROOT / name, folder / name, ignore=LARGE)
    (folder / "tests").mkdir()
    for path in (*ROOT.glob("*.*"), *(ROOT / each for each in ("LICENSE", "Makefile", ".gitignore"))):
        if path.is_file() and path.name != ".git":
            shutil.copy(path, folder / path.name)
    for name in (
        "weights/src/sfumato_minilm_inverter",
        "weights/tagger/src/sfumato_minilm_tagger",
        "research/src/sfumato_research",
    ):
        (folder / name).mkdir(parents=True)
        shutil.copy(ROOT / name / "__init__.py", folder / name)
    git(folder, "init", "--quiet")
    commit(folder)
    return folder


@pytest.fixture(scope="module")
def released(checkout, tmp_path_factory):
    """The folder that the check filled."""
    out = tmp_path_factory.mktemp("released") / "dist"
    said = release_check(checkout, out)
    assert sum("built twice, equal" in line for line in said) == 2
    return out


def copy_of(checkout, folder):
    return Path(shutil.copytree(checkout, folder / "copy"))


def test_sums_name_every_file_and_are_right(released):
    lines = dict(reversed(line.split("  ")) for line in (released / SUMS).read_text().splitlines())
    assert set(lines) == {path.name for path in released.iterdir()} - {SUMS}
    assert len(lines) == 4
    for name, found in lines.items():
        assert hashlib.sha256((released / name).read_bytes()).hexdigest() == found


def test_a_second_check_gives_the_same_bytes(checkout, released, tmp_path):
    release_check(checkout, tmp_path / "dist")
    for path in released.iterdir():
        assert (tmp_path / "dist" / path.name).read_bytes() == path.read_bytes(), path.name


def test_the_wheel_is_the_package(released):
    with zipfile.ZipFile(next(released.glob("*.whl"))) as wheel:
        names = wheel.namelist()
    assert {"sfumato/py.typed", "sfumato/version.py"} <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"sfumato"}


def test_the_sbom_is_cyclonedx(released):
    import cyclonedx.schema
    from jsonschema import Draft7Validator
    from referencing import Registry
    from referencing.jsonschema import DRAFT7

    folder = Path(cyclonedx.schema.__file__).parent / "_res"
    schemas = {path.name: json.loads(path.read_text()) for path in folder.glob("*.schema.json")}
    registry = Registry().with_resources(
        (key, DRAFT7.create_resource(schema))
        for name, schema in schemas.items()
        for key in (name, f"http://cyclonedx.org/schema/{name}")
    )
    found = json.loads((released / SBOM).read_text())
    checker = Draft7Validator(schemas["bom-1.6.SNAPSHOT.schema.json"], registry=registry)
    checker.validate(found)
    assert not checker.is_valid({**found, "components": [{"name": "no type"}]})
    scopes = {each["name"]: each["scope"] for each in found["components"]}
    assert scopes["numpy"] == "required" and scopes["fastapi"] == "optional" and "pytest" not in scopes
    refs = [each["bom-ref"] for each in found["components"]]
    assert len(refs) == len(set(refs))
    assert set(found["dependencies"][0]["dependsOn"]) <= set(refs)
    wheel = digest(next(released.glob("*.whl")))
    assert found["metadata"]["component"]["hashes"] == [{"alg": "SHA-256", "content": wheel}]
    for component in found["components"]:
        assert component["externalReferences"][0]["hashes"], component["name"]


def test_provenance_names_files_commit_and_tools(checkout, released):
    found = json.loads((released / PROVENANCE).read_text())
    named = {each["name"]: each["digest"]["sha256"] for each in found["subject"]}
    assert named == {path.name: digest(path) for path in released.glob("sfumato-*")}
    given = {each["name"]: each for each in found["predicate"]["buildDefinition"]["resolvedDependencies"]}
    assert given["source"]["digest"]["gitCommit"] == Checkout.of(checkout).commit
    assert given["hatchling"]["annotations"]["sha256, one of"]
    assert "Not signed" in json.dumps(found["predicate"]["runDetails"])


def test_what_is_not_committed_is_refused(checkout, tmp_path, capsys):
    copy = copy_of(checkout, tmp_path)
    (copy / "src/sfumato/version.py").write_text('__version__ = "9.9.9"\n')
    assert main(["--root", str(copy), "--out", str(tmp_path / "dist")]) == 2
    said = capsys.readouterr().err
    assert "commit them first" in said and said.count("\n") == 1
    assert not (tmp_path / "dist").exists()


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("src/sfumato/version.py", r'"\d[^"]*"', '"9.9.9"'),
        ("action/action.yml", r"==\d[^\"]*", "==9.9.9"),
        ("CHANGELOG.md", r"## \[\d[^\]]*\]", "## [9.9.9]"),
        (
            "weights/src/sfumato_minilm_inverter/__init__.py",
            r'__version__ = "[^"]*"',
            '__version__ = "9.9.9"',
        ),
        (
            "weights/tagger/src/sfumato_minilm_tagger/__init__.py",
            r'__version__ = "[^"]*"',
            '__version__ = "9.9.9"',
        ),
        ("research/src/sfumato_research/__init__.py", r'__version__ = "[^"]*"', '__version__ = "9.9.9"'),
    ],
)
def test_versions_that_differ_are_refused(checkout, tmp_path, name, before, after):
    for each in ("src/sfumato/version.py", "action/action.yml", "CHANGELOG.md"):
        (tmp_path / each).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(checkout / each, tmp_path / each)
    for each in ("weights", "research"):
        shutil.copytree(checkout / each, tmp_path / each)
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", check_versions(tmp_path))
    (tmp_path / name).write_text(re.sub(before, after, (tmp_path / name).read_text(), count=1))
    with pytest.raises(ReleaseError, match="make them agree"):
        check_versions(tmp_path)


def with_file(wheel, folder, name, content):
    """A copy of a wheel with one file more, or another content of one."""
    changed = folder / wheel.name
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(changed, "w") as new:
        for each in old.namelist():
            if each != name:
                new.writestr(each, old.read(each))
        if content is not None:
            new.writestr(name, content)
    return changed


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("sfumato/test_extra.py", b"", "holds sfumato/test_extra.py"),
        ("tests/test_x.py", b"", "holds tests/test_x.py"),
        ("sfumato/__pycache__/a.pyc", b"", "holds sfumato/__pycache__"),
        ("sfumato/version.py", b'__version__ = "0.2.0"\nimport os\n', "not as committed"),
        ("sfumato/py.typed", None, "lacks sfumato/py.typed"),
    ],
)
def test_a_wheel_with_anything_else_is_refused(checkout, released, tmp_path, name, content, said):
    wheel = next(released.glob("*.whl"))
    source = Checkout.of(checkout)
    assert check_wheel(wheel, source) > 300
    with pytest.raises(ReleaseError, match=said):
        check_wheel(with_file(wheel, tmp_path, name, content), source)


def test_weights_and_caches_that_are_committed_are_refused(checkout, tmp_path):
    copy = copy_of(checkout, tmp_path)
    (copy / "src/sfumato/old.sqlite").write_bytes(b"0")
    commit(copy)
    with pytest.raises(ReleaseError, match="never released"):
        release_check(copy, tmp_path / "dist")
    (copy / "src/sfumato/old.sqlite").unlink()
    blob = b"".join(hashlib.sha256(str(n).encode()).digest() for n in range(160_000))  # does not compress
    (copy / "src/sfumato/model.safetensors").write_bytes(blob)
    commit(copy)
    with pytest.raises(ReleaseError, match="their own package"):
        release_check(copy, tmp_path / "dist")


def test_a_build_that_depends_on_its_surroundings_is_refused(checkout, tmp_path):
    copy = copy_of(checkout, tmp_path)
    (copy / "hatch_build.py").write_text(
        "import os\nfrom hatchling.builders.hooks.plugin.interface import BuildHookInterface\n"
        "class Hook(BuildHookInterface):\n    def initialize(self, version, build_data):\n"
        "        open('src/sfumato/zone.py', 'w').write(repr(os.environ['TZ']))\n"
    )
    text = (copy / "pyproject.toml").read_text()
    (copy / "pyproject.toml").write_text(text + "\n[tool.hatch.build.hooks.custom]\n")
    commit(copy)
    with pytest.raises(ReleaseError, match=r"differ in sfumato-.*whl"):
        build(Checkout.of(copy), tmp_path / "built")


def test_an_sdist_of_other_files_is_refused(checkout, released, tmp_path):
    sdist = next(released.glob("*.tar.gz"))
    assert check_sdist(sdist, Checkout.of(checkout)) > 300
    copy = copy_of(checkout, tmp_path)
    (copy / "README.md").write_text("Other.\n")
    commit(copy)
    with pytest.raises(ReleaseError, match=r"README.md is not as committed"):
        check_sdist(sdist, Checkout.of(copy))


def test_every_pin_has_hashes():
    assert hashes.check(ROOT) > 2 * len(read_pins(ROOT / "constraints.txt"))
    assert {"fastapi", "psycopg-binary", "onnxruntime"} <= read_pins(ROOT / hashes.GATEWAY).keys()
    assert "torch" not in read_pins(ROOT / hashes.GATEWAY)


def test_a_list_for_extras_holds_all_that_they_bring(tmp_path, capsys):
    assert hashes.main(["--extras", "gunicorn,pgvector", "--to", str(tmp_path / "list.txt")]) == 0
    listed, every = read_pins(tmp_path / "list.txt"), read_pins(ROOT / hashes.ALL)
    # gunicorn names the extra serve, fastapi brings starlette, and psycopg's own extra its binary.
    assert {"numpy", "gunicorn", "fastapi", "starlette", "psycopg-binary"} <= listed.keys()
    assert "pytest" not in listed and all(every[name] == pin for name, pin in listed.items())
    assert hashes.main(["--extras", "nothing", "--to", str(tmp_path / "other.txt")]) == 2
    assert "choose from" in capsys.readouterr().err and not (tmp_path / "other.txt").exists()


@pytest.mark.parametrize("change", ["version", "hash", "gone", "gateway", "twice", "loose"])
def test_lists_that_do_not_agree_are_refused(tmp_path, change):
    (tmp_path / "requirements").mkdir()
    pins = [
        Pin("One", "1.0", "", ("a" * 64,)),
        Pin("two", "2.0", 'python_version == "3.11"', ("b" * 64, "c" * 64)),
    ]
    (tmp_path / "constraints.txt").write_text('one==1.0\ntwo==2.0; python_version == "3.11"\n')
    for name in ("hashes", "gateway", "core"):
        write_pins(tmp_path / f"requirements/{name}.txt", pins, "A list")
    assert hashes.check(tmp_path) == 3
    listed = tmp_path / "requirements/hashes.txt"
    if change == "version":
        (tmp_path / "constraints.txt").write_text('one==1.1\ntwo==2.0; python_version == "3.11"\n')
    elif change == "hash":
        write_pins(listed, [Pin("one", "1.0"), pins[1]], "A list")
    elif change == "gone":
        write_pins(listed, pins[:1], "A list")
    elif change == "gateway":
        write_pins(tmp_path / hashes.GATEWAY, [Pin("One", "1.0", "", ("d" * 64,))], "A list")
    elif change == "twice":
        listed.write_text(listed.read_text() + "ONE==1.0\n")
    else:
        (tmp_path / "constraints.txt").write_text("one>=1.0\n")
    with pytest.raises(ReleaseError):
        hashes.check(tmp_path)


def test_only_files_of_that_version_for_these_machines():
    files = {
        "some_pack-1.0.tar.gz": True,
        "some_pack-1.0-py3-none-any.whl": True,
        "some_pack-1.0-cp311-cp311-manylinux_2_28_x86_64.whl": True,
        "some_pack-1.0-cp39-abi3-macosx_11_0_arm64.whl": True,
        "some_pack-1.0-cp310-cp310-manylinux_2_28_x86_64.whl": False,
        "some_pack-1.0-cp313-cp313t-manylinux_2_28_x86_64.whl": False,
        "some_pack-1.0-cp311-cp311-win_amd64.whl": False,
        "some_pack-1.0.1.tar.gz": False,
        "some_pack_more-1.0.tar.gz": False,
    }
    page = "".join(
        f'<a href="https://host.invalid/{name}#sha256={number:064x}" data-x="y">{name}</a><br/>'
        for number, name in enumerate(files)
    )
    pin = hashes.hashed(Pin("Some.Pack", "1.0"), lambda name: page)
    assert pin.hashes == tuple(f"{n:064x}" for n, wanted in enumerate(files.values()) if wanted)
    with pytest.raises(ReleaseError, match="pin another version"):
        hashes.hashed(Pin("some-pack", "3.0"), lambda name: page)
