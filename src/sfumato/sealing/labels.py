"""Cells that are no part of the space: values that were found in texts, and cells with a value of a filter.

Their numbers are pseudo-random functions of what they stand for, so that neither the client's lists nor the
store's records say which value is meant.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.composing import normal
from sfumato.concepts.concept import Concept
from sfumato.errors import InputError, ParameterError
from sfumato.sealing.multimap import FIRST_OWN_TABLE
from sfumato.stores.rows import Scalar, checked_name

if TYPE_CHECKING:
    from sfumato.sealing.client.session import SealedClient
    from sfumato.sealing.state import CellKey

NAMES_TABLE = FIRST_OWN_TABLE
FILTER_TABLES = 2 * FIRST_OWN_TABLE
"""The first of the tables of cells with a value."""
MOST_NAMES = 64
"""Values of one text that it is filed under: the first ones."""
MOST_ROWS_A_NAME = 1000
"""Rows that are filed under one value: the first ones."""
_MOST_FILTERS, _MOST_CONCEPTS, _LONGEST = 8, 32, 1000


def checked_fields_of(names: Iterable[str]) -> list[str]:
    """The fields of filters, or a refusal."""
    if isinstance(names, str):
        raise ParameterError("`filters` must be a list of names of fields. Found a single str.")
    found = [checked_name(each) for each in dict.fromkeys(names)]
    if len(found) > _MOST_FILTERS:
        raise ParameterError(f"`filters` may name {_MOST_FILTERS} fields. Found {len(found)}.")
    return found


def with_value(client: SealedClient, cell: CellKey, name: str, value: Scalar) -> CellKey:
    """The cell of those rows of a cell whose field has a value; True is not 1 here, and 1.0 is."""
    exact = int(value) if isinstance(value, float) and value.is_integer() else value
    spelled = json.dumps([*cell, name, exact], ensure_ascii=False)
    return FILTER_TABLES + cell[0], client.label("filter", spelled)


def normalised(value: str) -> str:
    """One spelling of a value: case, spaces and forms of Unicode do not count, nor what divides digits."""
    folded = normal(normal(value[:_LONGEST], "NFKC").casefold(), "NFKC")
    if any(letter.isdigit() for letter in folded) and not any(letter.isalpha() for letter in folded):
        return "".join(letter for letter in folded if letter.isdigit())
    words = (word.strip(".,;:!?()[]\"'") for word in folded.split())
    return " ".join(word for word in words if word)


class FoundNames:
    """Which values texts hold, and the cells that those are.

    Args:
        client: whose key makes the cells.
        concepts: what finds them.
    """

    def __init__(self, client: SealedClient, concepts: Sequence[Concept]) -> None:
        self._client, self.concepts = client, concepts

    def cell(self, value: str) -> CellKey:
        """The cell of rows that hold a value."""
        spelled = normalised(value)
        if not spelled:
            raise InputError("A name to search for must have a letter or a digit. Found none.")
        return NAMES_TABLE, self._client.label("name", spelled)

    def cells(self, texts: Sequence[str]) -> list[set[CellKey]]:
        """The cells of the values that each text holds, as many as are filed."""
        found: list[dict[str, None]] = [{} for _ in texts]
        for concept in self.concepts:
            for text, own, spans in zip(texts, found, concept.find_all(texts), strict=True):
                own |= dict.fromkeys(normalised(text[span.start : span.end]) for span in spans)
        return [{self.cell(each) for each in list(filter(None, own))[:MOST_NAMES]} for own in found]


def concepts_of(names: Concept | str | Iterable[Concept | str] | None) -> list[Concept]:
    """The concepts that a user named."""
    if names is None:
        return []
    listed = [names] if isinstance(names, Concept | str) else list(names)
    if len(listed) > _MOST_CONCEPTS:
        raise ParameterError(f"`names` may hold {_MOST_CONCEPTS} concepts. Found {len(listed)}.")
    made = [each if isinstance(each, Concept) else Concept.named(each) for each in listed]
    for each in made:
        if each.detector is None:
            raise ParameterError(f"`names` must be found in texts. Found `{each.name:.40}`, given by spans.")
    return made


def names_kept(names: Concept | str | Iterable[Concept | str] | None) -> dict[str, Any]:
    """What the settings of a new collection say of them, ready for JSON."""
    concepts = concepts_of(names)
    return {"names": [each.to_dict() for each in concepts]} if concepts else {}


def concepts_again(kept: Sequence[Mapping[str, Any]], given: Sequence[Concept]) -> list[Concept]:
    """The concepts of a collection, out of its settings; those with a detector of their own as given."""
    own = {each.name: each for each in given}
    if given and sorted(own) != sorted(str(each["name"]) for each in kept):
        raise InputError("`names` must be those that the collection was made with. Found others.")
    return [own[each["name"]] if each["name"] in own else Concept.from_dict(each) for each in kept]
