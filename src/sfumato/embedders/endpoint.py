"""Posting JSON to one address, with patience: retries with growing pauses, and errors that quote nothing."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import secrets
import urllib.error
import urllib.request
from datetime import datetime, timezone
from email.message import Message
from email.utils import parsedate_to_datetime
from threading import Event
from typing import Any, NamedTuple

from sfumato.embedders.remote import OPENAI
from sfumato.embedders.remote import key_variable as _variable_of
from sfumato.errors import EndpointError as EndpointError
from sfumato.errors import InputError
from sfumato.version import __version__

_LARGEST = 1 << 28
_FIRST_PAUSE = 0.5
_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_HINTS = {
    **dict.fromkeys(
        (301, 302, 303, 307, 308), "It redirects, which is not followed: name the final address."
    ),
    400: "The server refused the request: a text may be too long for the model, or the model's name wrong.",
    401: "The key was refused, or there is none: check the environment variable {variable}.",
    403: "The key may not use this model.",
    404: "There is no such model or address.",
    413: "The request was too large: use a smaller `batch`.",
    429: "The limit of requests is used up: try later, or with fewer `workers`.",
}
_HEADER = re.compile(r"[\x21-\x7e]+")


class _Refused(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the texts and the key would go to an address that nobody named."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class _Try(NamedTuple):
    """What came of one request: an answer, or what failed and how long the server asked to wait."""

    answer: bytes | None = None
    failure: str = ""
    status: int | None = None
    asked: float | None = None


class Poster:
    """Posts to one address and gives back the answer's bytes."""

    def __init__(
        self,
        address: str,
        *,
        key_variable: str | None,
        timeout: float,
        retries: int,
        longest_wait: float,
    ) -> None:
        self.address = address
        self._key_variable = key_variable or _variable_of(address)
        self._key_required = address.startswith(f"{OPENAI}/")
        self._timeout, self._retries, self._longest_wait = timeout, retries, longest_wait
        self._opener = urllib.request.build_opener(_Refused)

    def post(self, body: bytes, where: str, stop: Event) -> bytes:
        """Send `body` and return the answer; `where` names the request in errors, `stop` ends its pauses."""
        headers = {"Content-Type": "application/json", "User-Agent": f"sfumato/{__version__}"}
        headers |= self._key()
        for tried in range(self._retries + 1):
            made = self._once(body, headers)
            if made.answer is not None:
                return made.answer
            pause = self._pause(tried, made.asked)
            final = made.status is not None and made.status not in _AGAIN
            if final or tried == self._retries or pause > self._longest_wait or stop.wait(pause):
                break
        times = "once" if tried == 0 else f"{tried + 1} times"
        hint = _HINTS.get(made.status or 0, "Check the address, or try later.")
        hint = hint.format(variable=self._key_variable)
        raise EndpointError(
            f"{self.address} failed {where} ({made.failure}, tried {times}). {hint}", made.status
        )

    def _key(self) -> dict[str, str]:
        key = os.environ.get(self._key_variable, "")
        if not key and self._key_required:
            raise InputError(f"The environment variable {self._key_variable} is not set. Put the key in it.")
        if key and not _HEADER.fullmatch(key):
            # The library's own message about a header it cannot send would show the key.
            raise InputError(
                f"The environment variable {self._key_variable} has to hold a key without spaces or line "
                "breaks. Found some: set it again."
            )
        return {"Authorization": f"Bearer {key}"} if key else {}

    def _once(self, body: bytes, headers: dict[str, str]) -> _Try:
        request = urllib.request.Request(self.address, body, headers, method="POST")
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                answer: bytes = response.read(_LARGEST + 1)
                if len(answer) > _LARGEST:
                    return _Try(failure=f"more than {_LARGEST >> 20} MiB", status=200)
                # A read with a limit does not say that the connection ended too early.
                return _Try(failure="a lost connection") if response.length else _Try(answer)
        except urllib.error.HTTPError as error:
            with error:
                return _Try(None, f"HTTP {error.code}", error.code, _retry_after(error.headers))
        except urllib.error.URLError as error:
            slow = isinstance(error.reason, TimeoutError)
            return _Try(failure="a timeout" if slow else "no connection")
        except TimeoutError:
            return _Try(failure="a timeout")
        except (OSError, http.client.HTTPException):
            return _Try(failure="a lost connection")

    def _pause(self, tried: int, asked: float | None) -> float:
        """Seconds until the next try: as asked, else twice as long each time, give or take a quarter."""
        if asked is not None:
            return asked
        spread = 0.75 + secrets.randbelow(1000) / 2000
        return min(_FIRST_PAUSE * 2.0**tried, self._longest_wait / 1.25) * spread


def _retry_after(headers: Message) -> float | None:
    """The pause a server asked for, in seconds or as a date."""
    found = headers.get("Retry-After", "")
    with contextlib.suppress(ValueError, TypeError, OverflowError):
        if found.strip().isdigit():
            return float(found)
        when = parsedate_to_datetime(found)
        when = when if when.tzinfo else when.replace(tzinfo=timezone.utc)
        return max(0.0, (when - datetime.now(timezone.utc)).total_seconds())
    return None
