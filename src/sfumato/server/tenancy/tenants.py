"""Each tenant's protector, secret noise and ledger, made when they are first needed."""

from __future__ import annotations

import hashlib
import logging
import threading
from dataclasses import dataclass, replace
from pathlib import Path

from sfumato.accounting import Ledger
from sfumato.embedders import OpenAIEndpoint
from sfumato.embedders.base import Embedder
from sfumato.errors import InputError, SfumatoError
from sfumato.protector import Protector
from sfumato.reference import ProtectorReference
from sfumato.server.http.logs import tell
from sfumato.server.http.problems import Problem
from sfumato.server.settings import GatewaySettings
from sfumato.server.tenancy.encoders import Encoders
from sfumato.server.tenancy.keys import KeyRing, TenantSettings
from sfumato.server.tenancy.state import SpendingLimits, State
from sfumato.server.tenancy.tokens import Tokens
from sfumato.server.turns.load import Load
from sfumato.server.turns.merging import MergingEmbedder
from sfumato.server.turns.releasing import Releaser
from sfumato.server.turns.speed import ServingSpeed

LOCAL = "local"
"""The only tenant of a gateway without keys."""
UPSTREAM = "upstream"
"""What the encoder that the upstream runs is called here."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tenant:
    """One tenant, ready to serve."""

    name: str
    model: str
    """What `/v1/models` calls it: the protector's folder and the start of its digest."""
    protector: Protector
    ledger: Ledger
    tokens: Tokens | None
    dim: int
    """Dimension of its releases."""
    releaser: Releaser
    clean_queries: bool
    """Whether it may have searches by their own vectors."""
    speed: ServingSpeed
    """How fast its protector is, shared by all who have the same."""
    load: Load
    """What is under way for all tenants."""


class Tenants:
    """All tenants of a gateway; they share encoders, and nothing else."""

    def __init__(self, settings: GatewaySettings, ring: KeyRing | None, encoders: Encoders) -> None:
        self._settings, self._ring, self._encoders = settings, ring, encoders
        self._lock = threading.Lock()
        self._made: dict[tuple[str, TenantSettings], Tenant] = {}
        self._speeds: dict[Path, ServingSpeed] = {}
        self._load = Load()
        self._state = State(settings.state)

    def get(self, name: str) -> Tenant:
        """The tenant of this name, as the keys file describes it now."""
        own = self._own(name)
        if not self.protects(name):
            message = "This gateway protects no vectors for this key: it serves sealed collections alone."
            raise Problem(404, message, code="no_protector")
        with self._lock:
            if (name, own) not in self._made:
                try:
                    self._made[name, own] = self._make(name, own)
                except SfumatoError as error:
                    tell("tenant unavailable", logging.ERROR, tenant=name, reason=str(error))
                    message = "The protector or the ledger behind this key cannot be opened."
                    raise Problem(503, message, code="tenant_unavailable") from None
            return self._made[name, own]

    def protects(self, name: str) -> bool:
        """Whether there is a protector for this tenant."""
        return self._settings.protector is not None or self._own(name).protector is not None

    def _own(self, name: str) -> TenantSettings:
        return TenantSettings() if self._ring is None else self._ring.file.tenants.get(name, TenantSettings())

    def warm_up(self) -> None:
        """Load the gateway's own protector and its encoder before the first request."""
        if self._settings.protector is not None:
            loaded = self._protector(self._settings.protector)
            loaded.prepare(["warm up"])
            speed = self._speed(self._settings.protector, loaded)
            most = speed.limits()["texts_by_characters"].items()
            tell("speed", **{f"texts_of_{length}": count for length, count in most})

    @property
    def has_encoder(self) -> bool:
        """Whether the gateway has a protector, and so an encoder of its own."""
        return self._settings.protector is not None

    def encoder(self) -> MergingEmbedder:
        """The encoder of the gateway's own protector, or its upstream."""
        if self._settings.protector is None:
            raise InputError("There is no protector, and so no encoder of its own. Name an embedder.")
        protector = self._protector(self._settings.protector)
        return self._merging(protector)

    def _make(self, name: str, own: TenantSettings) -> Tenant:
        folder = own.protector or self._settings.protector
        if folder is None:
            raise InputError("There is no protector for this tenant. Name one.")
        loaded = self._protector(folder)
        limits = limits_of(self._settings, own)
        ledger = self._state.ledger(name, loaded, limits)
        protector = replace(loaded, secret=self._state.secret, ledger=ledger, tenant=name)
        dim = protector.mechanism.output_dim(protector.encoder.dim)
        digest = hashlib.sha256(protector.settings_digest().encode()).hexdigest()[:8]
        tokens = Tokens.of(self._merging(loaded).embedder)
        return Tenant(
            name,
            f"sfumato/{folder.resolve().name}@{digest}",
            protector,
            ledger,
            tokens,
            dim,
            Releaser(protector),
            limits.clean_queries,
            self._speed(folder, loaded),
            self._load,
        )

    def _speed(self, folder: Path, loaded: Protector) -> ServingSpeed:
        if folder not in self._speeds:
            elsewhere = isinstance(self._merging(loaded).embedder, OpenAIEndpoint)
            made = (
                ServingSpeed(self._settings) if elsewhere else ServingSpeed.measured(self._settings, loaded)
            )
            self._speeds[folder] = made
        return self._speeds[folder]

    def _protector(self, folder: Path) -> Protector:
        loaded = open_protector(self._settings, folder)
        encoder = self._merging(loaded)
        expected = loaded.learned.model_id
        vouched = bool(self._settings.upstream) and self._settings.same_encoder
        if expected is not None and encoder.model_id != expected and not vouched:
            hint = " Say --same-encoder if it is the same one." if self._settings.upstream else ""
            raise InputError(
                f"The encoder must be the one the protector was learned for, {expected}. "
                f"Found {encoder.model_id}.{hint}"
            )
        if loaded.mechanism.dim not in (None, encoder.dim):
            raise InputError(
                f"The encoder must give {loaded.mechanism.dim} dimensions for this protector. "
                f"Found {encoder.dim}."
            )
        return replace(loaded, embedder=encoder)

    def _merging(self, protector: Protector) -> MergingEmbedder:
        """The encoder of a protector as it was loaded."""
        name, elsewhere = self._encoder_name(protector), bool(self._settings.upstream)
        return self._encoders.get(name, lambda: self._encoder(protector), elsewhere=elsewhere)

    def _encoder_name(self, protector: Protector) -> str:
        chosen = protector.embedder
        if self._settings.upstream:
            return UPSTREAM
        if chosen is None:
            raise InputError(
                "This protector has no encoder. Name an --upstream, or learn one with an encoder."
            )
        return chosen if isinstance(chosen, str) else chosen.name

    def _encoder(self, protector: Protector) -> Embedder:
        settings = self._settings
        if not settings.upstream:
            return protector.encoder
        return OpenAIEndpoint(
            settings.upstream_model,
            base_url=settings.upstream,
            key_variable=settings.upstream_key_variable or None,
            dim=protector.dim,
            timeout=settings.timeout,
            retries=2,
            longest_wait=settings.timeout / 4,
        )


def limits_of(settings: GatewaySettings, own: TenantSettings) -> SpendingLimits:
    """What one tenant may spend: its own ceiling goes before the gateway's."""
    advantage = own.ceiling_advantage
    return SpendingLimits(
        "curve" if settings.accounting == "curve" else settings.counting,
        own.ceiling if own.ceiling is not None else settings.ceiling,
        advantage if advantage is not None else settings.ceiling_advantage,
        settings.distance,
        settings.clean_queries if own.clean_queries is None else own.clean_queries,
    )


def open_protector(settings: GatewaySettings, folder: Path) -> Protector:
    """Load a protector; its own encoder is left alone where an upstream embeds."""
    instead = "upstream" if settings.upstream else None
    hosts = tuple(settings.allow_remote.split(","))
    return ProtectorReference(str(folder), allow_remote=hosts).open(embedder=instead)
