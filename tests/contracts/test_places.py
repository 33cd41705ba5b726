"""One grammar for where a secret and a ledger are, held by everything that takes one."""

from __future__ import annotations

import base64
import contextlib
import io
import itertools
import json
import secrets
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.accounting import Secret
from sfumato.adapters.sklearn import ProtectVectors
from sfumato.cli import audit as audit_command
from sfumato.cli.main import run
from sfumato.embedders import Fake
from sfumato.errors import InputError, SfumatoError
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.reference import ProtectorReference, absolute_place, open_protector, place_name, read_secret
from sfumato.saving import load_protector, save_protector
from sfumato.scale.portable import PortableProtector
from sfumato.scale.release import release_folder
from sfumato.scale.rows import as_table
from sfumato.scale.spark import in_arrow
from sfumato.stores.kinds.memory import Memory
from sfumato.stores.protected import ProtectedStore

TEXTS = ["one", "two"]
VECTORS = Fake(dim=32).embed(TEXTS)
OUT = (f"out-{number}" for number in itertools.count())
HEX = secrets.token_hex(32)
BASE64 = base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()

pytestmark = pytest.mark.filterwarnings("ignore::sfumato.protector.TextsMissingWarning")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder to work in: a protector, inputs, and one key in a file and in a variable."""
    monkeypatch.chdir(tmp_path)
    save_protector(Protector(Laplace(epsilon=40.0), embedder=Fake(dim=32)), "protector")
    np.save("vectors.npy", VECTORS)
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS))
    (tmp_path / "many").mkdir()
    pq.write_table(as_table(VECTORS, {}), "many/v.parquet")
    with Memory("clean") as store:
        store.add(["a", "b"], VECTORS, [{}, {}])
    Secret.from_file("key", create=True)
    monkeypatch.setenv("MY_KEY", (tmp_path / "key").read_text())
    return tmp_path


def command(name, *arguments, **places):
    """Run a command; what it refuses is raised."""
    words = [word for place in places.items() for word in (f"--{place[0]}", place[1])]
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        with pytest.raises(SystemExit) as stopped:
            run([name, *arguments, "--protector", "protector", *words])
    assert stopped.value.code in (0, 2), said.getvalue()
    if stopped.value.code == 2:
        raise InputError(said.getvalue().strip())


def rows_of(folder):
    return pq.read_table(folder).column("embedding").to_pylist()


def a_reference(**places):
    return ProtectorReference("protector", **places).open().embed(TEXTS)


def what_was_written_down(**places):
    return open_protector(json.loads(json.dumps({"folder": "protector", **places}))).protector.embed(TEXTS)


def a_store(**places):
    inner = Memory()
    ProtectedStore(inner, ProtectorReference("protector", **places)).add(["a", "b"], TEXTS)
    return inner.get(["a", "b"]).vectors


def a_transformer(**places):
    return ProtectVectors(**places).fit_transform(VECTORS)


def a_worker(**places):
    return PortableProtector.of(load_protector("protector"), **places).open().embed(TEXTS)


def a_spark_function(**places):
    batch = pa.RecordBatch.from_pydict({"text": TEXTS})
    (found,) = in_arrow(load_protector("protector"), **places)([batch])
    return found.column("embedding").to_pylist()


def a_folder(**places):
    out = next(OUT)
    release_folder("many", out, load_protector("protector"), workers=1, **places)
    return rows_of(out)


def protect_a_file(**places):
    out = f"{next(OUT)}.npy"
    command("protect", "vectors.npy", "-o", out, **places)
    return np.load(out)


def protect_a_folder(**places):
    out = next(OUT)
    command("protect", "many", "-o", out, "--workers", "1", **places)
    return rows_of(out)


def migrate(**places):
    out = next(OUT)
    command("migrate", "--from", "memory:clean", "--to", f"memory:{out}", **places)
    with Memory(out) as store:
        return store.get(["a", "b"]).vectors


def audit(**places):
    found = []

    def stop(*arguments, protector, **options):
        found.append(protector.secret.key_id)
        raise InputError("that is enough")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audit_command, "audit", stop)
        try:
            command("audit", "texts.txt", "--concept", "city", **places)
        except InputError:
            if not found:
                raise
    return found


TAKE_SECRETS = [
    a_reference, what_was_written_down, a_store, a_transformer, a_worker, a_spark_function, a_folder,
    protect_a_file, protect_a_folder, migrate, audit,
]  # fmt: skip
TAKE_LEDGERS = [
    a_reference, what_was_written_down, a_store, a_worker, a_folder, protect_a_file, protect_a_folder,
    migrate,
]  # fmt: skip
MAKE_KEYS = [protect_a_file, protect_a_folder, migrate]
NOT_OPTIONAL = [a_worker, a_spark_function, a_folder, protect_a_file, protect_a_folder, migrate, audit]
"""Whoever takes None for none refuses an empty place, which may be a variable that was not set."""


def named(takers):
    return pytest.mark.parametrize("taker", takers, ids=lambda taker: taker.__name__)


def files():
    return {path for path in Path().rglob("*") if not path.parts[0].startswith("out-")}


@named(TAKE_SECRETS)
def test_every_way_to_say_where_the_secret_is(taker, here):
    places = ["env:MY_KEY", "file:key", f"file:{here / 'key'}", "key", "./key", str(here / "key")]
    before = files()
    found = [np.asarray(taker(secret=place)) for place in places]
    assert all(np.array_equal(each, found[0]) for each in found)  # sticky noise of one key
    assert files() == before


@named(TAKE_SECRETS)
@pytest.mark.parametrize(
    "wrong",
    [
        HEX, BASE64, BASE64.rstrip("="), f"0x{HEX}", f"env:{HEX}", f"file:{HEX}", f"env:{BASE64}",
        f"file:{BASE64}", "env:", "file:", "vault:hunter2", "http://host/hunter2", "nowhere/hunter2",
        "env:two words",
    ],
    ids=range(14),
)  # fmt: skip
def test_what_may_be_the_secret_itself_is_neither_shown_nor_made_a_file(taker, wrong):
    before = files()
    with pytest.raises(SfumatoError, match=r"env:NAME or file:PATH, or PATH alone") as caught:
        taker(secret=wrong)
    said = str(caught.value)
    assert "\n" not in said and "hunter2" not in said and "two words" not in said
    assert HEX not in said and BASE64.rstrip("=") not in said
    assert files() == before


@named([taker for taker in TAKE_SECRETS if taker not in MAKE_KEYS])
def test_only_releasing_commands_make_a_key(taker):
    before = files()
    for place in ("hunter2", "file:new.key"):
        with pytest.raises(SfumatoError) as caught:
            taker(secret=place)
        assert "hunter2" not in str(caught.value)
    assert files() == before


@named(MAKE_KEYS)
def test_releasing_commands_make_a_key_that_is_not_there(taker):
    for number, place in enumerate(("new-{}.key", "file:new-{}.key", "file:./new-{}.key")):
        first = taker(secret=place.format(number))
        assert Path(f"new-{number}.key").stat().st_mode & 0o777 == 0o600
        assert np.array_equal(taker(secret=f"file:new-{number}.key"), first)


@named(TAKE_LEDGERS)
def test_every_way_to_say_where_the_ledger_is(taker, here):
    for number, place in enumerate(("spent-{}.db", "file:spent-{}.db", f"{here}/spent-{{}}.db")):
        before = files()
        taker(secret="env:MY_KEY", ledger=place.format(number))
        assert files() - before == {Path(f"spent-{number}.db")}


@named(TAKE_LEDGERS)
def test_what_is_no_place_of_a_ledger_is_refused(taker):
    before = files()
    for wrong in ("env:MY_KEY", "file:", "sqlite:spent.db", "postgresql://host/db"):
        with pytest.raises(SfumatoError, match=r"file:PATH, or PATH alone"):
            taker(secret="key", ledger=wrong)
    with pytest.raises(SfumatoError, match="needs a secret"):
        taker(ledger="spent.db")
    assert files() == before


@named(NOT_OPTIONAL)
def test_an_empty_place_is_refused(taker):
    with pytest.raises(SfumatoError, match="leave it out for none"):
        taker(secret="")
    if taker in TAKE_LEDGERS:
        with pytest.raises(SfumatoError, match="leave it out for none"):
            taker(secret="key", ledger="")


def test_a_place_is_the_same_from_another_folder_and_shown_without_one(here, monkeypatch):
    places = [absolute_place(place) for place in ("env:MY_KEY", "key", "file:key")]
    assert places == ["env:MY_KEY", f"file:{here / 'key'}", f"file:{here / 'key'}"]
    expected = read_secret("key").key_id
    monkeypatch.chdir("many")
    assert {read_secret(place).key_id for place in places} == {expected}
    assert [place_name(place) for place in places] == ["env:MY_KEY", "key", "key"]


def test_a_file_whose_name_looks_like_a_key_is_read_where_it_is():
    Path("key").rename(HEX)
    assert read_secret(HEX).key_id == read_secret(f"file:{HEX}").key_id == read_secret("env:MY_KEY").key_id
