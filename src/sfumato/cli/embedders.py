"""`sfumato embedders`: what turns texts into vectors, what is installed, and how to install the rest."""

from __future__ import annotations

from sfumato.cli.listing import records, show
from sfumato.cli.output import JsonOption, write_json
from sfumato.embedders import EMBEDDERS

NAME = "embedders"
EXAMPLE = "Example: sfumato embedders --json embedders.json"

_WRITTEN = {
    "sentence-transformers": "a folder, OWNER/NAME or sentence-transformers:NAME",
    "use-lite": "use-lite:FOLDER, or use-lite with SFUMATO_USE_LITE",
    "openai": "openai:MODEL or openai:MODEL@URL",
    "vectors": "a .npy or .parquet file",
    "fake": "fake or fake:DIM",
}


def command(json: JsonOption = None) -> None:
    """List the embedders, how each is named, and whether it is installed."""
    found = records(EMBEDDERS, _WRITTEN)
    show(found, "embedder", "does")
    write_json(json, {"embedders": found})
