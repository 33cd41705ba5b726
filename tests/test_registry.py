from __future__ import annotations

import subprocess
import sys

import pytest

from sfumato.errors import MissingPackageError, ParameterError
from sfumato.registry import Entry, Registry

TABLE: Registry[object] = Registry(
    "shape",
    [
        Entry("fraction", "fractions:Fraction", "a quotient"),
        Entry("decimal", "decimal:Decimal", "a decimal", requires=("decimal",), extra="numbers"),
        Entry(
            "absent", "sfumato_absent:Thing", "not here", requires=("json", "sfumato_absent"), extra="ghost"
        ),
        Entry("deep", "sfumato_absent.inner:Thing", "hides what it needs", extra="ghost"),
        Entry("gap", "sfumato.no_such_part:Thing", "a bug of ours", extra="ghost"),
        Entry(
            "twice",
            "sfumato_absent:Thing",
            "two steps",
            ("sfumato_absent",),
            "ghost",
            "pip install --no-deps x",
        ),
    ],
)


def test_names_keep_the_order_of_the_table():
    assert TABLE.names() == ("fraction", "decimal", "absent", "deep", "gap", "twice")
    assert [entry.summary for entry in TABLE][:2] == ["a quotient", "a decimal"]
    assert len(TABLE) == 6
    assert "decimal" in TABLE
    assert "other" not in TABLE
    assert TABLE.entry("decimal").extra == "numbers"


def test_get_gives_the_class():
    from decimal import Decimal

    assert TABLE.get("decimal") is Decimal


@pytest.mark.parametrize("name", ["Decimal", "decimel", "DECIMAL"])
def test_unknown_name_lists_the_known_and_the_closest(name):
    with pytest.raises(ParameterError) as caught:
        TABLE.get(name)
    message = str(caught.value)
    assert "fraction, decimal, absent" in message
    assert "Did you mean `decimal`?" in message
    assert repr(name) in message
    assert "\n" not in message


@pytest.mark.parametrize("name", ["zzzzzz", "", 3, None, ["decimal"], "x" * 10_000])
def test_hopeless_name_has_no_hint_and_a_short_message(name):
    with pytest.raises(ParameterError) as caught:
        TABLE.get(name)
    assert "Did you mean" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_missing_package_says_how_to_install_it():
    with pytest.raises(MissingPackageError) as caught:
        TABLE.get("absent")
    assert caught.value.package == "sfumato_absent"
    assert caught.value.extra == "ghost"
    assert "for the shape `absent`" in str(caught.value)
    assert "pip install 'sfumato[ghost]'" in str(caught.value)


def test_package_missed_only_while_importing_counts_as_missing():
    with pytest.raises(MissingPackageError, match="`sfumato_absent` is needed for the shape `deep`"):
        TABLE.get("deep")


def test_gap_in_sfumato_itself_is_not_blamed_on_a_package():
    with pytest.raises(ModuleNotFoundError) as caught:
        TABLE.get("gap")
    assert not isinstance(caught.value, MissingPackageError)


def test_installed():
    assert TABLE.installed("fraction")
    assert TABLE.installed("decimal")
    assert not TABLE.installed("absent")
    with pytest.raises(ParameterError):
        TABLE.installed("other")


def test_installed_sees_a_blocked_and_a_hand_made_module(monkeypatch):
    monkeypatch.setitem(sys.modules, "decimal", None)
    assert not TABLE.installed("decimal")
    made = type(sys)("sfumato_absent")
    made.__spec__ = None
    monkeypatch.setitem(sys.modules, "sfumato_absent", made)
    assert TABLE.installed("absent")


def test_install_line():
    assert TABLE.install_line("fraction") == "pip install sfumato"
    assert TABLE.install_line("absent") == "pip install 'sfumato[ghost]'"
    assert TABLE.install_line("twice") == "pip install 'sfumato[ghost]' && pip install --no-deps x"
    with pytest.raises(MissingPackageError, match="--no-deps x"):
        TABLE.get("twice")


def test_neither_the_table_nor_the_question_imports_anything():
    code = (
        "import sys; from sfumato.registry import Entry, Registry; "
        "entry = Entry('a', 'wave:Wave_read', 's', requires=('wave', 'sfumato_absent'), extra='e'); "
        "table = Registry('kind', [entry]); "
        "table.installed('a'), table.install_line('a'); sys.exit('wave' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "entries",
    [
        [Entry("a", "json:loads", ""), Entry("a", "json:dumps", "")],
        [Entry("a", "json", "")],
        [Entry("a", ":loads", "")],
        [Entry("a", "json:", "")],
        [Entry("a", "json:loads", "", requires=("os.path",), extra="e")],
        [Entry("a", "json:loads", "", requires=("os",))],
    ],
    ids=["same name", "no class", "no module", "empty class", "dotted requirement", "no extra"],
)
def test_bad_table_is_refused(entries):
    with pytest.raises(ParameterError):
        Registry("kind", entries)
