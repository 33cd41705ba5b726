"""OpenSearch 2 and 3: an index with a `knn_vector`, ranked by the script `knn_score` (exact) or its graph.

Recorded contract, not tried with a server.
"""

from __future__ import annotations

from typing import Any

from sfumato.stores.kinds.search_http import basic
from sfumato.stores.kinds.search_index import SearchIndex

USER_VARIABLE, PASSWORD_VARIABLE = "OPENSEARCH_USERNAME", "OPENSEARCH_PASSWORD"
_SPACES = {"cosine": "cosinesimil", "l2": "l2", "ip": "innerproduct"}


class OpenSearch(SearchIndex):
    """An index in OpenSearch."""

    name = "opensearch"

    def _credentials(self) -> dict[str, str]:
        return basic(USER_VARIABLE, PASSWORD_VARIABLE)

    def _definition(self, dim: int) -> tuple[dict[str, Any], dict[str, Any]]:
        field: dict[str, Any] = {"type": "knn_vector", "dimension": dim}
        if self.exact:
            return field, {}
        parameters = {"m": 32, "ef_construction": 200}
        field["method"] = {
            "name": "hnsw",
            "engine": "lucene",
            "space_type": _SPACES[self.metric],
            "parameters": parameters,
        }
        return field, {"index": {"knn": True}}

    def _ranked(self, vector: list[float], k: int, filters: list[Any]) -> dict[str, Any]:
        chosen = {"bool": {"filter": filters}}
        if not self.exact:
            asked: dict[str, Any] = {"vector": vector, "k": k} | ({"filter": chosen} if filters else {})
            return {"query": {"knn": {"vector": asked}}}
        parameters = {"field": "vector", "query_value": vector, "space_type": _SPACES[self.metric]}
        script = {"lang": "knn", "source": "knn_score", "params": parameters}
        return {"query": {"script_score": {"query": chosen, "script": script}}}
