"""Opening the state of a sealed collection: one that is there, or a new one where nothing is yet."""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.embedders.base import Embedder
from sfumato.errors import InputError
from sfumato.sealing.client.bundles import is_bundle
from sfumato.sealing.client.database import StateFile, is_begun
from sfumato.sealing.client.session import require_encoder
from sfumato.sealing.crypto.keys import SealingKey
from sfumato.sealing.crypto.signing import WriterKey
from sfumato.sealing.members import SealedSettings
from sfumato.sealing.state import ClientState
from sfumato.stores.base import Store


def open_state(
    store: Store,
    folder: Path,
    key: SealingKey,
    tenant: str,
    encoder: Embedder | None,
    new: dict[str, Any] | None,
    signed: bool = False,
) -> ClientState:
    """Open the state in a folder, or begin it with the settings `new`, where the store is empty."""
    if is_bundle(folder):
        raise InputError(
            f"`{folder}` is a bundle, which is read and never written with. Give it as `bundles`."
        )
    if not is_begun(folder):
        _refuse_new(store, folder, new)
    file = StateFile(folder)
    try:
        state = ClientState(file, key, tenant)
        if state.found() is None:
            known = ("", "") if encoder is None else (encoder.model_id, encoder.name)
            begin(state, SealedSettings(secrets.token_hex(16), *known, **(new or {})), signed=signed)
        if encoder is not None:
            require_encoder(state.settings, encoder)
    except BaseException:
        file.close()
        raise
    return state


def begin(state: ClientState, settings: SealedSettings, *, signed: bool) -> None:
    """Begin a state, with a key to sign with if it is to be signed."""
    with state.file.changing():
        if state.found() is None:
            writer = WriterKey.create(state.file.folder, state.envelope).public if signed else ""
            state.settle(replace(settings, writer=writer))


def begin_lane(folder: Path, key: SealingKey, tenant: str, bundle: ClientState) -> None:
    """Begin the state of another writer of the collection that a bundle is of; one that is there stays.

    Its lane is drawn from 2^63, so that no two writers need to agree on theirs. It learns cells of its own:
    those of another writer would keep what that one erases.
    """
    now = bundle.settings
    file = StateFile(folder)
    try:
        state = ClientState(file, key, tenant)
        fresh = SealedSettings(
            now.collection, now.encoder, now.encoder_name, now.precision, now.tables, now.asked_probes,
            now.keep, now.units, handle=now.handle, options=now.options,
            lane=1 + secrets.randbelow((1 << 63) - 1),
        )  # fmt: skip
        begin(state, fresh, signed=bool(now.writer))
        if state.settings.collection != now.collection or state.settings.lane == now.lane:
            raise InputError(
                f"`{folder}` holds the state of another collection, or of the very writer whose bundle was "
                "given. Give a new folder."
            )
    finally:
        file.close()


def _refuse_new(store: Store, folder: Path, new: dict[str, Any] | None) -> None:
    if new is None:
        raise InputError(
            f"There is no state of a sealed collection in `{folder}`. It is made when rows are sealed: "
            "check the key and the folder."
        )
    if len(store):
        raise InputError(
            f"{store.label} has to be empty, because `{folder}` knows none of its {len(store)} rows. Give "
            "the key and the state they were sealed with, or a new place."
        )
