"""Speaking to a search engine over HTTP: JSON both ways, bounded, and errors that quote nothing."""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

from sfumato.errors import InputError
from sfumato.stores.base import StoreError
from sfumato.version import __version__

_TIMEOUT = 60.0
_LARGEST = 1 << 28
_HEADER = re.compile(r"[\x20-\x7e]+")
_HINTS = {
    401: "The key or password was refused, or there is none.",
    403: "The key or user may not do this.",
    413: "The request was too large: add fewer rows at a time.",
    429: "The server is overloaded: try later.",
}
Credentials = Callable[[], dict[str, str]]


class _StayingHere(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: rows and key would go to an address that nobody named."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class JsonServer:
    """One server: requests go out as JSON and answers come back as what the JSON holds."""

    def __init__(self, address: str, label: str, credentials: Credentials) -> None:
        self._address, self._label, self._credentials = address.rstrip("/"), label, credentials
        self._opener = urllib.request.build_opener(_StayingHere)

    def ask(self, method: str, path: str, body: Any = None, *, absent: bool = False) -> Any:
        """Send a request and return its answer; with `absent` a 404 is None."""
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        return self._send(method, path, data, "application/json", absent)

    def bulk(self, path: str, lines: list[Any]) -> Any:
        """Send several objects, one a line."""
        data = "".join(json.dumps(each, allow_nan=False) + "\n" for each in lines).encode()
        return self._send("POST", path, data, "application/x-ndjson", False)

    def _send(self, method: str, path: str, data: bytes | None, kind: str, absent: bool) -> Any:
        headers = {"User-Agent": f"sfumato/{__version__}", "Accept": "application/json"}
        headers |= self._credentials() | ({} if data is None else {"Content-Type": kind})
        request = urllib.request.Request(self._address + path, data, headers, method=method)
        failure = ""
        try:
            with self._opener.open(request, timeout=_TIMEOUT) as response:
                answer = response.read(_LARGEST + 1)
            if len(answer) <= _LARGEST:
                return json.loads(answer)
            failure = f"more than {_LARGEST >> 20} MiB"
        except urllib.error.HTTPError as error:
            with error:
                if absent and error.code == 404:
                    return None
                hint = _HINTS.get(error.code, "Check the address and the index.")
                failure = f"HTTP {error.code}. {hint}"
        except TimeoutError:
            failure = "a timeout"
        except (OSError, http.client.HTTPException):
            failure = "no connection"
        except (ValueError, RecursionError):
            failure = "an answer that is not JSON"
        raise StoreError(f"{self._label} could not do what was asked: {failure.rstrip('.')}.")


def basic(user_variable: str, password_variable: str) -> dict[str, str]:
    """The header of a user and a password that stand in the environment, if they do."""
    password = os.environ.get(password_variable, "")
    if not password:
        return {}
    user = os.environ.get(user_variable, "")
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


def header_of(variable: str) -> str:
    """A key from the environment, or "" where there is none."""
    key = os.environ.get(variable, "")
    if key and not _HEADER.fullmatch(key):
        # The library's own message about a header it cannot send would show the key.
        raise InputError(
            f"The environment variable {variable} must hold a key without line breaks. Set it again."
        )
    return key
