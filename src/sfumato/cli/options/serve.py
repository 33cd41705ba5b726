"""The options of `sfumato serve`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ProtectorOption = Annotated[
    Path | None, typer.Option(metavar="DIR", help="A protector made by `sfumato learn`.")
]
CollectionsOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Names the sealed collections of each tenant and their stores."),
]
HostOption = Annotated[str, typer.Option(help="Address to listen on; without keys only a loopback one.")]
PortOption = Annotated[int, typer.Option(help="Port to listen on.")]
UpstreamOption = Annotated[
    str,
    typer.Option(metavar="URL", help="An OpenAI-compatible server that embeds, such as http://host/v1."),
]
UpstreamModelOption = Annotated[str, typer.Option(help="The model's name on the upstream.")]
UpstreamKeyVariableOption = Annotated[
    str, typer.Option(help="The environment variable with the upstream's key; its host's if not said.")
]
SameEncoderOption = Annotated[
    bool, typer.Option(help="The upstream serves the encoder that the protector was learned for.")
]
KeysOption = Annotated[Path | None, typer.Option(metavar="FILE", help="API keys, made with --new-key.")]
NewKeyOption = Annotated[
    str | None, typer.Option(metavar="TENANT", help="Add a key to --keys, show it once, and stop.")
]
RevokeOption = Annotated[
    str | None, typer.Option(metavar="TENANT", help="Take the tenant's keys out of --keys, and stop.")
]
KeysGraceOption = Annotated[
    float, typer.Option(help="Seconds for which keys go on working when --keys can no longer be used.")
]
StateOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Holds the secret of sticky noise and the ledgers; else sfumato in the user's state folder.",
    ),
]
NewLedgerOption = Annotated[
    str | None,
    typer.Option(metavar="TENANT", help="Put the tenant's ledger aside, start an empty one, and stop."),
]
CeilingOption = Annotated[
    float | None, typer.Option(help="Most epsilon that one text may spend; with --new-key, the tenant's.")
]
CountingOption = Annotated[
    str,
    typer.Option(
        metavar="auto|own|l2",
        help="How new ledgers count: own keeps to one protector, l2 lets protectors change.",
    ),
]
CleanQueriesOption = Annotated[
    bool | None,
    typer.Option(
        "--clean-queries/--no-clean-queries",
        help="Let clients have searches by their own vectors, which promise nothing; with --new-key, the "
        "tenant.",
    ),
]
TlsCertOption = Annotated[Path | None, typer.Option(metavar="FILE", help="Certificate chain, PEM.")]
TlsKeyOption = Annotated[Path | None, typer.Option(metavar="FILE", help="Its private key, PEM.")]
WorkersOption = Annotated[int, typer.Option(help="Processes; each loads its own encoder.")]
ThreadsOption = Annotated[int, typer.Option(help="Requests worked on at once in each process.")]
MaxWaitingOption = Annotated[int, typer.Option(help="Requests that may wait in each process.")]
MaxConnectionsOption = Annotated[int, typer.Option(help="Connections to each process.")]
MaxBatchOption = Annotated[int, typer.Option(help="Most texts in a request.")]
MaxBytesOption = Annotated[int, typer.Option(help="Largest request.")]
MaxInflightOption = Annotated[
    int, typer.Option(help="Bytes of all requests that each process holds at once.")
]
MaxCharactersOption = Annotated[int, typer.Option(help="Longest text.")]
TimeoutOption = Annotated[float, typer.Option(help="Seconds for one request, waiting included.")]
ReadTimeoutOption = Annotated[float, typer.Option(help="Seconds for a client to send a request.")]
PageOption = Annotated[bool, typer.Option("--console/--no-console", help="The page at /.")]
OtelOption = Annotated[
    bool,
    typer.Option("--otel", help="Send traces and figures to OTEL_EXPORTER_OTLP_ENDPOINT (OpenTelemetry)."),
]
