"""Add rows as one of several writers: python add_in_lane.py URL FOLDER BUNDLE FIRST LAST."""

from __future__ import annotations

import sys
from pathlib import Path

from sfumato.sealing.store import SealedStore
from sfumato.stores import open_store
from tests.sealing.collections import ENCODER, key_in, metadata, names, notes


def main(url, folder, bundle, first, last):
    """Join, and add some rows at a time."""
    place, low, high = Path(folder), int(first), int(last)
    with SealedStore.join(
        open_store(url), key=key_in(place.parent), folder=place, bundle=bundle, embedder=ENCODER
    ) as store:
        for start in range(low, high, 20):
            stop = min(start + 20, high)
            store.add(names(high)[start:stop], notes(high)[start:stop], metadata(high)[start:stop])
        store.export_reader(f"{folder}-bundle")


if __name__ == "__main__":
    main(*sys.argv[1:])
