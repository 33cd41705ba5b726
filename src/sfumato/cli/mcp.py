"""`sfumato mcp`: a sealed memory for assistants that speak the Model Context Protocol."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.options.sealed import (
    EmbedderOption,
    NewKeyOption,
    StateOption,
    StoreOption,
    TenantOption,
    state_folder,
)
from sfumato.cli.output import console
from sfumato.cli.seal import key_for, make_room
from sfumato.embedders import Embedder, load_embedder
from sfumato.errors import InputError, MissingPackageError
from sfumato.sealing.client.database import is_begun
from sfumato.sealing.client.place import take_place
from sfumato.sealing.crypto.keys import SealingKey
from sfumato.sealing.store import SealedStore
from sfumato.stores.address import parse_address
from sfumato.stores.opening import open_store

if TYPE_CHECKING:
    from sfumato.adapters.memory.serving import MemoryServer

NAME = "mcp"
EXAMPLE = (
    "Example, as the command in an assistant's configuration: sfumato mcp "
    "--store qdrant:/home/me/memory#notes --key /home/me/memory.key"
)

ReadOnlyOption = Annotated[
    bool, typer.Option("--read-only", help="Offer search alone: nothing is remembered or forgotten.")
]
BufferOption = Annotated[
    int,
    typer.Option(
        metavar="RECORDS",
        help="Records that may wait in the state, found all the same, so that the store sees fewer that "
        "belong together.",
    ),
]


def command(
    store: StoreOption,
    key: NewKeyOption,
    embedder: EmbedderOption = None,
    tenant: TenantOption = "",
    state: StateOption = None,
    read_only: ReadOnlyOption = False,
    buffer: BufferOption = 0,
) -> None:
    """Serve a memory to an assistant over stdio: remember, search and forget, sealed before it is stored."""
    if find_spec("mcp") is None:
        raise MissingPackageError("mcp", "mcp", "for the memory")
    # The protocol has standard output for itself, also while packages load that may greet.
    with redirect_stdout(sys.stderr):
        serve = _prepared(store, key, embedder, tenant, state, read_only, buffer)
    serve()


def _prepared(
    store: str, key: Path, embedder: str | None, tenant: str, state: Path | None, read_only: bool, buffer: int
) -> partial[None]:
    """Open the memory, and return what serves it."""
    with open_store(store, create=not read_only) as records:
        secret = SealingKey.load(key) if read_only else key_for(key, records)
        label = records.label
    folder = state_folder(key, secret, store, tenant, state)
    if read_only and not is_begun(folder):
        raise InputError(
            "With --read-only there must be a memory to search. Found none: check key and store."
        )
    make_room(folder, state)
    place = -1 if parse_address(store).is_server else take_place(folder)
    chosen = embedder or (None if is_begun(folder) else "minilm")
    encoder = cache(lambda: None if chosen is None else load_embedder(chosen))
    from sfumato.adapters.memory.memories import SealedMemories
    from sfumato.adapters.memory.serving import MemoryServer

    memories = SealedMemories(partial(_opened, store, secret, folder, encoder, tenant, buffer))

    def greet(count: int) -> None:
        line = f"sfumato mcp: {count} memories in {label}, key {secret.fingerprint}; serving on stdio"
        console(aside=True).print(line, highlight=False, markup=False, soft_wrap=True)

    return partial(_serve, MemoryServer(memories, _say, greet, read_only), place)


def _opened(
    url: str,
    key: SealingKey,
    folder: Path,
    encoder: Callable[[], Embedder | None],
    tenant: str,
    buffer: int,
) -> SealedStore:
    records = open_store(url)
    try:
        return SealedStore(records, key=key, folder=folder, embedder=encoder(), tenant=tenant, buffer=buffer)
    except BaseException:
        records.close()
        raise


def _serve(server: MemoryServer, place: int) -> None:
    import anyio

    try:
        anyio.run(server.serve)
    finally:
        server.close()
        if place >= 0:
            os.close(place)


def _say(line: str) -> None:
    """An error, which `--quiet` does not silence."""
    typer.echo(f"sfumato mcp: {line}", err=True)
