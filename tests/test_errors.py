"""Every exception that is defined anywhere is in the tree of errors, or named beneath it."""

from __future__ import annotations

import ast
import builtins
from pathlib import Path

import sfumato
from sfumato import errors

SOURCE = Path(sfumato.__file__).parent


def defined():
    """Every exception class of every module, by name, with its module and the names of its bases."""
    classes = {}
    for path in SOURCE.rglob("*.py"):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
                classes[module, node.name] = bases
    raised = {name for name, value in vars(builtins).items() if is_exception(value)}
    before = 0
    while len(raised) > before:
        before = len(raised)
        raised |= {name for (_, name), bases in classes.items() if raised & set(bases)}
    return {(module, name) for (module, name), bases in classes.items() if raised & set(bases)}


def is_exception(value):
    return isinstance(value, type) and issubclass(value, BaseException)


def drawn():
    """The tree as it is drawn: name, name of the parent and of the built-in class beside it."""
    found, above = [], {-1: ""}
    for line in errors.__doc__.splitlines():
        depth = (len(line) - len(line.lstrip("│├└─ "))) // 4
        words = line.lstrip("│├└─ ").split()
        if words and words[0].endswith("Error") and (depth or words == ["SfumatoError"]):
            beside = words[1].strip("()") if len(words) > 1 and words[1].startswith("(") else None
            found.append((words[0], above[depth - 1], beside))
            above[depth] = words[0]
    return found


def test_every_exception_is_listed():
    outside = {(module, name) for module, name in defined() if module != "errors"}
    missing = {f"{module}.{name}" for module, name in outside if f"`{module}.{name}`" not in errors.__doc__}
    assert missing == set()
    assert errors.__doc__.count(".") > len(outside) >= 5
    inside = {name for module, name in defined() if module == "errors"}
    assert inside == {name for name, _, _ in drawn()} and len(inside) == len(drawn()) >= 10


def test_the_tree_is_drawn_as_it_is():
    for name, parent, beside in drawn():
        kind = getattr(errors, name)
        wanted = [getattr(errors, parent) if parent else Exception]
        wanted += [getattr(builtins, beside)] if beside else []
        assert list(kind.__bases__) == wanted, name


def test_the_old_places_have_the_same_classes():
    from sfumato.embedders import EndpointError
    from sfumato.stores import StoreError

    assert EndpointError is errors.EndpointError and StoreError is errors.StoreError
