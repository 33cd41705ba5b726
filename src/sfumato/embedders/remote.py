"""Where texts may be sent, and which key goes there.

An address that the user names is used. One that comes out of a saved folder is used only where the user
allowed its host: `--allow-remote HOST`, `allow_remote=[HOST]`, or the variable SFUMATO_ALLOW_REMOTE (hosts
with commas between them). A key is read from the variable that belongs to the host: OPENAI_API_KEY for
https://api.openai.com, SFUMATO_KEY_MY_HOST for my.host (a hyphen is written as two underscores).
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from urllib.parse import urlsplit

from sfumato.errors import ArtifactError, ParameterError

OPENAI = "https://api.openai.com/v1"
ALLOW_VARIABLE = "SFUMATO_ALLOW_REMOTE"
_KEYS = {("https", "api.openai.com"): "OPENAI_API_KEY"}
# Nothing that two programs might read in two ways.
_ADDRESS = re.compile(
    r"https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[!$-.0-9:;=@A-Z_a-z~/%]*)?"
)


def checked_address(address: str) -> str:
    """Return the address of a server without a slash at its end, or refuse it."""
    if not isinstance(address, str) or not _ADDRESS.fullmatch(address):
        raise ParameterError(
            "`base_url` must read like https://host/v1, with neither a name nor a password in it. "
            "Found something else. Put a key in the environment."
        )
    return address.rstrip("/")


def key_variable(address: str) -> str:
    """The environment variable that holds the key for the host of an address."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    own = "".join({".": "_", ":": "_", "-": "__", "_": "___"}.get(sign, sign.upper()) for sign in host)
    return _KEYS.get((parts.scheme, host), f"SFUMATO_KEY_{own}")


def require_consent(address: str, allowed: Collection[str]) -> None:
    """Refuse an address out of a saved folder whose host the user did not allow."""
    parts = urlsplit(checked_address(address))
    host = parts.hostname or ""
    shown = f"{host}:{parts.port}" if parts.port else host
    if not {host, shown} & _asked(allowed):
        raise ArtifactError(
            f"The saved folder names an encoder on another machine, {shown}, which would be sent every text. "
            f"If you trust it: --allow-remote {shown}, allow_remote=[{shown!r}] or {ALLOW_VARIABLE}={shown}."
        )


def require_named(name: str, allowed: Collection[str]) -> None:
    """Refuse an encoder of another package out of a saved folder, unless the user named it."""
    if name.lower() not in _asked(allowed):
        raise ArtifactError(
            f"The saved folder names the encoder `{name}` of another package, which would see every text. "
            f"If you trust it: --allow-remote {name}, allow_remote=[{name!r}] or {ALLOW_VARIABLE}={name}."
        )


def _asked(allowed: Collection[str]) -> set[str]:
    """What the user allowed, by argument or by environment."""
    return {each.strip().lower() for each in (*allowed, *os.environ.get(ALLOW_VARIABLE, "").split(","))}
