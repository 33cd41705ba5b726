"""What goes beside the files of a release: SHA256SUMS, an SBOM (CycloneDX 1.6) and a statement of provenance.

No time of the day is in them: whoever builds the commit again, with the same Python, gets the same bytes.
"""

from __future__ import annotations

import json
import platform
import re
import uuid
import zipfile
from datetime import datetime, timezone
from email.parser import Parser
from importlib import metadata
from pathlib import Path
from typing import Any

from release.building import Checkout, digest
from release.pins import Pin, ReleaseError, normal, read_pins

SUMS, SBOM, PROVENANCE = "SHA256SUMS", "sfumato.cdx.json", "sfumato.provenance.json"
BUILDERS = ("hatchling", "packaging", "pathspec", "pluggy", "tomlkit", "trove-classifiers")
_NOT_FOR_USERS = re.compile(r"(dev|docs|all|.*-tests)")
_UNSIGNED = "Not signed: it says how the files were made, not who made them. Build the commit again to check."


def write_documents(files: list[Path], source: Checkout, version: str, out: Path) -> list[Path]:
    """Write SBOM, provenance and then the sums of everything; their paths."""
    wheel = next(path for path in files if path.suffix == ".whl")
    _write_json(out / SBOM, sbom(wheel, source, version))
    _write_json(out / PROVENANCE, provenance(files, source))
    written = [*files, out / SBOM, out / PROVENANCE]
    (out / SUMS).write_text("".join(f"{digest(path)}  {path.name}\n" for path in sorted(written)))
    return [*written, out / SUMS]


def sbom(wheel: Path, source: Checkout, version: str) -> dict[str, Any]:
    """The package, the core with all it brings, and what extras name, each with its files' hashes."""
    pins = read_pins(source.root / "requirements/hashes.txt")
    core = read_pins(source.root / "requirements/core.txt").keys() - (set(BUILDERS) | {"editables"})
    direct, extras = _required(wheel)
    if missing := sorted((direct | extras | core) - pins.keys()):
        raise ReleaseError(
            f"requirements/hashes.txt has no {missing[0]}, which the package asks for: pin it."
        )
    own = {
        "type": "library",
        "bom-ref": _purl("sfumato", version),
        "name": "sfumato",
        "version": version,
        "purl": _purl("sfumato", version),
        "licenses": [{"license": {"id": "Apache-2.0"}}],
        "hashes": [{"alg": "SHA-256", "content": digest(wheel)}],
    }
    required = sorted(core | direct)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, digest(wheel))}",
        "version": 1,
        "metadata": {"timestamp": _moment(source), "component": own},
        "components": [
            _component(pins[name], "required" if name in required else "optional")
            for name in sorted(core | direct | extras)
        ],
        "dependencies": [
            {"ref": own["bom-ref"], "dependsOn": [_ref(pins[name]) for name in sorted(direct | extras)]}
        ],
        "compositions": [
            {"aggregate": "complete", "assemblies": [_ref(pins[name]) for name in required]},
            # What the packages of extras bring with them is pinned in hashes.txt and not told apart by extra.
            {
                "aggregate": "incomplete",
                "assemblies": [_ref(pins[name]) for name in sorted(extras - set(required))],
            },
        ],
    }


def provenance(files: list[Path], source: Checkout) -> dict[str, Any]:
    """An in-toto statement with a SLSA v1 predicate: what was built, from what, with what. Unsigned."""
    pins = read_pins(source.root / "requirements/hashes.txt")
    lists = ("constraints.txt", "requirements/core.txt", "requirements/hashes.txt")
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": path.name, "digest": {"sha256": digest(path)}} for path in sorted(files)],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:sfumato:release-check:v1",
                "externalParameters": {"command": "make release-check"},
                "internalParameters": {
                    "SOURCE_DATE_EPOCH": source.epoch,
                    "python": platform.python_version(),
                },
                "resolvedDependencies": [
                    {"name": "source", "digest": {"gitCommit": source.commit}},
                    *({"name": name, "digest": {"sha256": digest(source.root / name)}} for name in lists),
                    *(_builder(pins, name) for name in BUILDERS),
                ],
            },
            "runDetails": {
                "builder": {
                    "id": "urn:sfumato:builder:local",
                    "version": {"hatchling": metadata.version("hatchling")},
                },
                "byproducts": [{"name": "signature", "annotations": {"note": _UNSIGNED}}],
            },
        },
    }


def _builder(pins: dict[str, Pin], name: str) -> dict[str, Any]:
    """A package that the build ran, refused where it is another version than the one with known hashes."""
    pin, used = pins[name], metadata.version(name)
    if used != pin.version:
        raise ReleaseError(
            f"The build ran {name} {used}, pinned is {pin.version}: `pip install -c constraints.txt {name}`."
        )
    return {"name": name, "uri": _ref(pin), "annotations": {"sha256, one of": list(pin.hashes)}}


def _required(wheel: Path) -> tuple[set[str], set[str]]:
    """What the wheel asks for: always, and by an extra that is for users."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = Parser().parsestr(archive.read(name).decode()).get_all("Requires-Dist") or []
    direct, extras = set[str](), set[str]()
    for line in lines:
        package = normal(re.split(r"[\s;\[<>=!~(]", line, maxsplit=1)[0])
        extra = re.search(r"extra == ['\"]([^'\"]+)", line)
        if extra is None:
            direct.add(package)
        elif package != "sfumato" and not _NOT_FOR_USERS.fullmatch(extra[1]):
            extras.add(package)
    return direct, extras


def _component(pin: Pin, scope: str) -> dict[str, Any]:
    hashes = [{"alg": "SHA-256", "content": each} for each in pin.hashes]
    files = {"type": "distribution", "url": _ref(pin), "comment": "one of these files", "hashes": hashes}
    named = {"name": pin.name, "version": pin.version, "purl": _ref(pin)}
    return {"type": "library", "bom-ref": _ref(pin), **named, "scope": scope, "externalReferences": [files]}


def _ref(pin: Pin) -> str:
    return _purl(pin.key, pin.version)


def _purl(name: str, version: str) -> str:
    return f"pkg:pypi/{name}@{version}"


def _moment(source: Checkout) -> str:
    return datetime.fromtimestamp(source.epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n")
