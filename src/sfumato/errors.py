"""Every error Sfumato raises on purpose.

SfumatoError
├── InputError (ValueError)          something the caller handed over breaks a rule
│   ├── ParameterError               a parameter is outside its range
│   ├── VectorError                  an embedding array or one of its rows is refused
│   └── ArtifactError                a saved file is damaged, forged or of another kind
├── BudgetError                      a release would take a text over its ceiling; nothing was spent
├── RandomnessError (RuntimeError)   a random source may not be used this way
├── EndpointError (RuntimeError)     an endpoint failed, or answered with something else
├── StoreError (RuntimeError)        a store cannot be reached, or refused what it was asked to do
└── MissingPackageError (ImportError)  an optional package is not installed

Messages say what, the rule, the value found and what to do, in one line. They name rows, never contents.

Three more never reach a caller: `server.http.problems.Problem` becomes an HTTP answer, `trials.rows.LeftOut`
a line of the report, and `adapters.litellm.guardrail.GuardrailSetupError` stops LiteLLM's proxy. Warnings
stand beside what they warn of: `randomness.InsecureSeedWarning`, `protector.TextsMissingWarning`,
`stores.metadata.MetadataWarning`, `cli.main.CommandMissingWarning`, `registry.PluginWarning`,
`embedders.huggingface.models.UntestedVersionWarning`, `adapters.sealed.shared.IncompleteResultWarning` and
`concepts.languages.coverage.LanguageWarning`.
"""

from __future__ import annotations

import traceback
from pathlib import Path


class SfumatoError(Exception):
    """Base of every error Sfumato raises on purpose."""


class InputError(SfumatoError, ValueError):
    """Something the caller handed over breaks a rule."""


class ParameterError(InputError):
    """A parameter is outside its documented range."""


class VectorError(InputError):
    """An embedding array, or one of its rows, is refused before anything is spent."""

    def __init__(self, message: str, row: int | None = None) -> None:
        super().__init__(message)
        self.row = row


class ArtifactError(InputError):
    """A saved file is damaged, forged or of another kind."""


class BudgetError(SfumatoError):
    """A release would take a text over its ceiling; nothing was spent."""

    def __init__(self, message: str, row: int | None = None) -> None:
        super().__init__(message)
        self.row = row


class RandomnessError(SfumatoError, RuntimeError):
    """A random source may not be used this way."""


class EndpointError(SfumatoError, RuntimeError):
    """An endpoint failed, or answered with something that is not what was asked for."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        """The HTTP status, where there was one."""


class StoreError(SfumatoError, RuntimeError):
    """A store cannot be reached, or refused what it was asked to do."""


class MissingPackageError(SfumatoError, ImportError):
    """An optional package is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"`{package}` is needed {purpose} and is not installed. "
            f"Install it with: pip install 'sfumato[{extra}]'"
        )
        self.package = package
        self.extra = extra


def place_of(error: BaseException) -> str:
    """Where an error was raised, as the last calls that led there; no value of any variable."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    return " > ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames)
