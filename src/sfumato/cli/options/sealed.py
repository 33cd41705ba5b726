"""The options of `sfumato seal`, `search` and `erase`, and where the client's state is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from sfumato.sealing.crypto.keys import SealingKey
from sfumato.stores.address import parse_address

StoreOption = Annotated[
    str, typer.Option("--store", metavar="URL", help="Where the records go; see: sfumato stores")
]
NewKeyOption = Annotated[
    Path,
    typer.Option("--key", metavar="FILE", help="The key; a file (mode 0600) that is not there is made."),
]
ConfirmOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A copy of the key kept elsewhere: refuse unless it is the same key."),
]
KeyOption = Annotated[
    Path, typer.Option("--key", metavar="FILE", help="The key that the collection was sealed with.")
]
SearchKeyOption = Annotated[
    Path | None,
    typer.Option("--key", metavar="FILE", help="The key that the collection was sealed with."),
]
ProtectorOption = Annotated[
    Path | None,
    typer.Option("--protector", metavar="DIR", help="The protector of a collection that is not sealed."),
]
CleanOption = Annotated[
    bool,
    typer.Option(
        "--clean", help="With --protector: send the search's own vector, which shows what is sought."
    ),
]
TextsOption = Annotated[
    Path | None,
    typer.Option(
        "--texts", metavar="FILE", help="With --protector: show the texts of rows found, from here by id."
    ),
]
StateOption = Annotated[
    Path | None,
    typer.Option(
        "--state", metavar="DIR", help="The client's sealed state; beside the key (FILE.state) if not given."
    ),
]
TenantOption = Annotated[str, typer.Option(help="Whose rows these are: every tenant has keys of its own.")]
IdColumnOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The column of ids; `id` if there is one, else rows are numbered."),
]
EmbedderOption = Annotated[
    str | None,
    typer.Option(help="The encoder; minilm for a new collection, else the one it was sealed with."),
]
HandleOption = Annotated[
    str | None,
    typer.Option(help="How the store finds candidates: multimap (for a new one), tags, codes or noise."),
]
BitsOption = Annotated[int | None, typer.Option(help="Bits of a row that --handle codes shows; 64.")]
NoiseRatioOption = Annotated[
    float | None, typer.Option(help="Noise of --handle noise, in lengths of a vector; 1.4.")
]
NamesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--names", metavar="CONCEPT", help="Values that search --name finds: person, phone, email…; repeat."
    ),
]
FilterOption = Annotated[
    list[str] | None,
    typer.Option("--filter", metavar="FIELD", help="A field that searches --where by; repeat for more."),
]
NameOption = Annotated[
    str | None, typer.Option("--name", metavar="VALUE", help="Rows that hold a value, such as a name.")
]
KeepOption = Annotated[
    str, typer.Option(metavar="METRIC=SHARE", help="What a search is to keep of clean search.")
]
TablesOption = Annotated[
    int, typer.Option(help="Ways to cut into cells: more need fewer records a query and more a row.")
]
PrecisionOption = Annotated[str, typer.Option(help="How vectors are kept: int8, float16 or float32.")]
TextArgument = Annotated[
    str | None, typer.Argument(metavar="TEXT", help="What to look for.", show_default=False)
]
QueriesOption = Annotated[
    Path | None, typer.Option("--queries", metavar="FILE", help="Many texts to look for, as IN elsewhere.")
]
SearchIdsOption = Annotated[
    str | None,
    typer.Option("--id-column", metavar="NAME", help="The column of ids in --queries or --texts."),
]
HitsOption = Annotated[int, typer.Option("-k", help="How many rows to find.")]
WhereOption = Annotated[
    list[str] | None,
    typer.Option("--where", metavar="FIELD=VALUE", help="Only rows with this metadata; repeat for more."),
]
IdsOption = Annotated[list[str], typer.Option("--id", metavar="ID", help="The id of a row; repeat for more.")]

FilesOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--files",
        metavar="PATH",
        help="Database files, logs, backups or folders of them to look into; repeat. The store's own "
        "folder and the state are looked into anyway, where they are here.",
    ),
]
LostTextOption = Annotated[
    str | None,
    typer.Option(
        "--text",
        metavar="FILE",
        help="Texts and metadata that the rows had, as IN elsewhere; - for lines on stdin.",
    ),
]


def state_folder(key_file: Path, key: SealingKey, url: str, tenant: str, given: Path | None) -> Path:
    """Where the state of a collection is: a folder beside the key, under a name that tells nothing."""
    if given is not None:
        return given
    address = parse_address(url)
    place = address.label if address.is_server else os.path.realpath(address.place)
    name = key.derive("name", "state folder", address.store, place, address.collection, tenant).hex()[:16]
    return Path(f"{key_file}.state") / name
