"""Addresses of collections.

| written                                  | is                                                        |
|------------------------------------------|-----------------------------------------------------------|
| memory:  memory:FOLDER                   | rows in memory, saved to a folder if there is one         |
| faiss:FOLDER                             | a FAISS index and its metadata                            |
| chroma:FOLDER#COLLECTION                 | Chroma on this machine                                    |
| chroma+http://HOST:PORT#COLLECTION       | a Chroma server; also chroma+https                        |
| qdrant:FOLDER#COLLECTION                 | Qdrant on this machine                                    |
| qdrant+https://HOST:PORT#COLLECTION      | a Qdrant server; also qdrant+http                         |
| postgresql://USER@HOST/DATABASE#TABLE    | Postgres with pgvector; TABLE or SCHEMA.TABLE             |
| lancedb:FOLDER#TABLE                     | LanceDB on this machine                                   |
| milvus:FOLDER#COLLECTION                 | Milvus Lite on this machine                               |
| milvus+https://HOST:PORT#COLLECTION      | a Milvus server; also milvus+http                         |
| sqlite:FILE#TABLE                        | an SQLite file, searched by sqlite-vec                    |
| redis://HOST:PORT/NUMBER#SET             | a vector set in Redis 8; also rediss                      |
| elasticsearch+https://HOST:PORT#INDEX    | Elasticsearch; also elasticsearch+http                    |
| opensearch+https://HOST:PORT#INDEX       | OpenSearch; also opensearch+http                          |
| NAME:PLACE#COLLECTION                    | a store that another package brings                       |

Options follow a `?`, before the `#`: metric, index, and id, vector, metadata for columns of a table that is
there. Whatever else follows it in a postgresql address goes to Postgres. In a folder's name `%23` is `#`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from sfumato.errors import ParameterError
from sfumato.meant import meant_by
from sfumato.registry import brought_names

DEFAULT_COLLECTION = "sfumato"
GROUP = "sfumato.stores"
"""Entry points under which other packages bring stores."""
OPTIONS = ("metric", "index", "id", "vector", "metadata", "tenant", "database")
_POSTGRES = ("postgresql", "postgres")
_FOLDERS = ("memory", "faiss", "chroma", "qdrant", "lancedb", "milvus", "sqlite")
FILES = ("sqlite",)
"""Those of them that are one file."""
_KEYS = {
    "chroma": "CHROMA_API_KEY",
    "qdrant": "QDRANT_API_KEY",
    "milvus": "MILVUS_TOKEN",
    "redis": "REDIS_PASSWORD",
    "elasticsearch": "ELASTICSEARCH_API_KEY",
    "opensearch": "OPENSEARCH_PASSWORD",
}
"""The variable that holds the key of each server whose address may not."""
_REDIS = ("redis", "rediss")
_SERVERS = (*(f"{name}+{kind}" for name in _KEYS if name != "redis" for kind in ("http", "https")), *_REDIS)


@dataclass(frozen=True, slots=True, repr=False)
class Address:
    """One collection's address, taken apart; `label` is what may be shown of it."""

    store: str
    place: str
    """A folder, or the address of a server, which may hold a password."""
    is_server: bool
    collection: str
    label: str
    options: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        """What may be shown."""
        return f"Address({self.label})"


_NEAR = {
    "pgvector": "postgresql",
    "pg": "postgresql",
    "lance": "lancedb",
    "file": "faiss",
    "http": "qdrant+http",
}


def parse_address(url: str) -> Address:
    """Take an address apart, or refuse it in one line that holds nothing of a password."""
    scheme, colon, rest = url.partition(":")
    scheme = scheme.lower()
    if colon and scheme in brought_names(GROUP) and scheme not in (*_FOLDERS, *_SERVERS, *_POSTGRES):
        return _brought(scheme, rest)
    if not colon or scheme not in (*_FOLDERS, *_SERVERS, *_POSTGRES):
        known = ", ".join(f"{name}:" for name in (*_FOLDERS, *_SERVERS, "postgresql"))
        near = meant_by(scheme, (*_FOLDERS, *_SERVERS, *_POSTGRES), _NEAR) if colon else None
        hint = "" if near is None else f" Did you mean `{near}:`?"
        raise ParameterError(f"The address of a store must begin with one of {known}.{hint}")
    rest, _, fragment = rest.partition("#")
    body, _, query = rest.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    options = {name: value for name, value in pairs if name in OPTIONS}
    others = [(name, value) for name, value in pairs if name not in OPTIONS]
    collection = unquote(fragment) or DEFAULT_COLLECTION
    if scheme in _FOLDERS:
        _refuse_options(scheme, others)
        return _folder(scheme, unquote(body), collection, options)
    return _server(scheme, body, others, collection, options)


def _brought(scheme: str, rest: str) -> Address:
    """The address of a store of another package, which says itself what it makes of the place."""
    body, _, fragment = rest.partition("#")
    place, _, query = body.partition("?")
    collection = unquote(fragment) or DEFAULT_COLLECTION
    options = dict(parse_qsl(query, keep_blank_values=True))
    return Address(scheme, unquote(place), True, collection, f"{scheme}:...#{collection}", options)


def _folder(scheme: str, folder: str, collection: str, options: dict[str, str]) -> Address:
    kind = "file" if scheme in FILES else "folder"
    if folder.startswith("//"):
        raise ParameterError(
            f"The address must read {scheme}:{kind.upper()} for a {kind}. Found {scheme}:// in its place."
        )
    if not folder and scheme != "memory":
        raise ParameterError(f"The address must name a {kind}: {scheme}:{kind.upper()}. Found none.")
    label = f"{scheme}:{folder}" + ("" if scheme in ("memory", "faiss") else f"#{collection}")
    return Address(scheme, folder, False, collection, label, options)


def _server(
    scheme: str, body: str, others: list[tuple[str, str]], collection: str, options: dict[str, str]
) -> Address:
    store, _, kind = scheme.partition("+")
    if scheme in _REDIS:
        store, kind = "redis", scheme
    whole = f"{kind or 'postgresql'}:{body}"
    try:
        parts = urlsplit(whole)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port, parts = "", None, None
    if parts is None or (not host and store in _KEYS):
        raise ParameterError(f"The address must read {scheme}://HOST:PORT#COLLECTION. Found something else.")
    shown = f"[{host}]" if ":" in host else host
    label = f"{scheme}://{shown}{f':{port}' if port else ''}{parts.path}#{collection}"
    if store in _POSTGRES:
        dsn = whole + (f"?{urlencode(others)}" if others else "")
        return Address("pgvector", dsn, True, collection, label, options)
    _refuse_options(scheme, others)
    if parts.username or parts.password:
        raise ParameterError(
            f"The address of a {store} server holds no key. Put it into the variable {_KEYS[store]}."
        )
    return Address(store, whole, True, collection, label, options)


def _refuse_options(scheme: str, others: list[tuple[str, str]]) -> None:
    if others:
        raise ParameterError(
            f"The options of {scheme}: are {', '.join(OPTIONS)}. Found {others[0][0]!r:.40}. Leave it out."
        )
