"""Elasticsearch 8 and 9: an index with a `dense_vector`, ranked by a script (exact) or by its HNSW graph.

Recorded contract, not tried with a server.
"""

from __future__ import annotations

from typing import Any

from sfumato.stores.kinds.search_http import basic, header_of
from sfumato.stores.kinds.search_index import SearchIndex

KEY_VARIABLE = "ELASTICSEARCH_API_KEY"
USER_VARIABLE, PASSWORD_VARIABLE = "ELASTICSEARCH_USERNAME", "ELASTICSEARCH_PASSWORD"
_SIMILARITIES = {"cosine": "cosine", "l2": "l2_norm", "ip": "max_inner_product"}
# Scores may not be negative, and only their order counts.
_SCRIPTS = {
    "cosine": "cosineSimilarity(params.vector, 'vector') + 1.0",
    "l2": "1 / (1 + l2norm(params.vector, 'vector'))",
    "ip": "double v = dotProduct(params.vector, 'vector'); return v < 0 ? 1 / (1 - v) : v + 1;",
}
_SEARCH_WIDTH = 200


class Elasticsearch(SearchIndex):
    """An index in Elasticsearch."""

    name = "elasticsearch"

    def _credentials(self) -> dict[str, str]:
        key = header_of(KEY_VARIABLE)
        return {"Authorization": f"ApiKey {key}"} if key else basic(USER_VARIABLE, PASSWORD_VARIABLE)

    def _definition(self, dim: int) -> tuple[dict[str, Any], dict[str, Any]]:
        field: dict[str, Any] = {"type": "dense_vector", "dims": dim, "index": not self.exact}
        if not self.exact:
            field["similarity"] = _SIMILARITIES[self.metric]
            field["index_options"] = {"type": "hnsw", "m": 32, "ef_construction": 200}
        return field, {}

    def _ranked(self, vector: list[float], k: int, filters: list[Any]) -> dict[str, Any]:
        if not self.exact:
            width = min(10_000, max(_SEARCH_WIDTH, 2 * k))
            asked = {"field": "vector", "query_vector": vector, "k": k, "num_candidates": width}
            return {"knn": asked | ({"filter": filters} if filters else {})}
        script = {"source": _SCRIPTS[self.metric], "params": {"vector": vector}}
        return {"query": {"script_score": {"query": {"bool": {"filter": filters}}, "script": script}}}
