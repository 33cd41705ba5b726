"""What a client is told when something is wrong: the shape of OpenAI's errors, and never a text or a key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.embedders import EndpointError
from sfumato.errors import ArtifactError, BudgetError, InputError, RandomnessError, SfumatoError

GONE = 499
"""Status that the log gives a request whose client hung up."""
_KINDS = {
    401: "authentication_error",
    403: "permission_error",
    404: "invalid_request_error",
    429: "insufficient_quota",
}


class Problem(Exception):
    """An answer that is an error."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.code, self.param = status, message, code, param
        self.headers = dict(headers or {})

    def body(self) -> dict[str, Any]:
        """The error as OpenAI's clients expect it."""
        kind = _KINDS.get(self.status, "server_error" if self.status >= 500 else "invalid_request_error")
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}


def problem_of(error: Exception) -> Problem:
    """What a client may know of an error; the log knows its kind and place, and no more either."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, BudgetError):
        # Trying again cannot help, and OpenAI's client would, three times.
        message = f"The privacy budget is spent. {error}"
        return Problem(429, message, code="budget_spent", param="input", headers={"x-should-retry": "false"})
    if isinstance(error, EndpointError):
        status = "" if error.status is None else f" (HTTP {error.status})"
        message = f"The upstream encoder failed{status}. Nothing was released."
        return Problem(502, message, code="upstream_failed")
    if isinstance(error, InputError) and not isinstance(error, ArtifactError):
        return Problem(400, str(error), code="input_refused", param="input")
    if isinstance(error, SfumatoError) and not isinstance(error, RandomnessError):
        message = "What is spent could not be written down, so nothing was released. Try again later."
        return Problem(503, message, code="ledger_failed", headers={"Retry-After": "1"})
    return Problem(
        500, "The gateway failed. Nothing more is said here; its log has the place.", code="internal"
    )
