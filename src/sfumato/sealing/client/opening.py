"""Opening the state of a sealed collection: one that is there, or a new one where nothing is yet."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from sfumato.embedders.base import Embedder
from sfumato.errors import InputError
from sfumato.sealing.client.database import StateFile, is_begun
from sfumato.sealing.client.session import require_encoder
from sfumato.sealing.crypto.keys import SealingKey
from sfumato.sealing.state import ClientState, SealedSettings
from sfumato.stores.base import Store


def open_state(
    store: Store,
    folder: Path,
    key: SealingKey,
    tenant: str,
    encoder: Embedder | None,
    new: dict[str, Any] | None,
) -> ClientState:
    """Open the state in a folder, or begin it with the settings `new`, where the store is empty."""
    if not is_begun(folder):
        _refuse_new(store, folder, new)
    file = StateFile(folder)
    try:
        state = ClientState(file, key, tenant)
        if state.found() is None:
            known = ("", "") if encoder is None else (encoder.model_id, encoder.name)
            with file.changing():
                if state.found() is None:
                    state.settle(SealedSettings(secrets.token_hex(16), *known, **(new or {})))
        if encoder is not None:
            require_encoder(state.settings, encoder)
    except BaseException:
        file.close()
        raise
    return state


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
