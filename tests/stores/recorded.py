"""A stand-in for Elasticsearch and OpenSearch: it takes documented requests to the last key, and no others.

It is no product: what it cannot show is that a real server does what its documents say. Rows are ranked by
brute force with scores in float32, and whatever is not in the contract is an error, kept in `violations`.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

SCRIPTS = {
    "cosineSimilarity(params.vector, 'vector') + 1.0": "cosine",
    "1 / (1 + l2norm(params.vector, 'vector'))": "l2",
    "double v = dotProduct(params.vector, 'vector'); return v < 0 ? 1 / (1 - v) : v + 1;": "ip",
}
SIMILARITIES = {"cosine": "cosine", "l2_norm": "l2", "max_inner_product": "ip"}
SPACES = {"cosinesimil": "cosine", "l2": "l2", "innerproduct": "ip"}
MOST = 10_000


class Violation(Exception):
    """A request that the documents do not know."""


def need(truth: bool, what: str) -> None:
    if not truth:
        raise Violation(what)


def keys(found: Any, required: str, optional: str = "") -> None:
    """Exactly these keys, by name."""
    names = set(required.split())
    need(isinstance(found, dict), f"an object with {required}")
    need(names <= set(found) <= names | set(optional.split()), f"keys {sorted(found)} for {required}")


class Engine:
    """The indexes of one server."""

    def __init__(self, product: str) -> None:
        self.product, self.indexes = product, {}
        self.violations: list[str] = []
        self.seen_headers: list[dict[str, str]] = []
        self.lock = threading.Lock()

    def answer(self, method: str, path: str, kind: str, data: bytes) -> tuple[int, Any]:
        with self.lock:
            try:
                return self._answer(method, path, kind, data)
            except Violation as found:
                self.violations.append(f"{method} {path}: {found}")
                return 400, {"error": {"type": "illegal_argument_exception"}, "status": 400}

    def _answer(self, method: str, path: str, kind: str, data: bytes) -> tuple[int, Any]:
        if (method, path) == ("POST", "/_bulk?refresh=true"):
            need(kind == "application/x-ndjson" and data.endswith(b"\n"), "lines that end in a line break")
            return 200, self._bulk([json.loads(line) for line in data.splitlines()])
        found = re.fullmatch(r"/([a-z0-9][a-z0-9_.-]*)(/_mapping|/_search|/_mget|/_count)?", path)
        need(found is not None, "a path")
        name, action = found[1], found[2] or ""
        need(kind == ("application/json" if data else ""), "a body of JSON, or none")
        body = json.loads(data) if data else None
        if (method, action) == ("PUT", ""):
            return 200, self._create(name, body)
        if name not in self.indexes:
            return 404, {"error": {"type": "index_not_found_exception"}, "status": 404}
        index = self.indexes[name]
        if (method, action) == ("GET", "/_mapping"):
            return 200, {name: {"mappings": index["mappings"]}}
        if (method, action) == ("GET", "/_count"):
            return 200, {"count": len(index["rows"]), "_shards": {"total": 1, "failed": 0}}
        need(method == "POST" and action in ("/_search", "/_mget"), "a method for that path")
        return 200, self._mget(name, body) if action == "/_mget" else self._search(name, body)

    def _create(self, name: str, body: Any) -> Any:
        need(name not in self.indexes, "resource_already_exists_exception")
        keys(body, "settings mappings")
        keys(body["mappings"], "dynamic _meta properties")
        fields = body["mappings"]["properties"]
        keys(fields, "id vector values metadata fields")
        need(fields["id"] == fields["fields"] == {"type": "keyword"}, "keywords")
        need(fields["values"] == {"type": "binary"}, "binary")
        need(fields["metadata"] == {"type": "keyword", "index": False, "doc_values": False}, "not indexed")
        vector, settings = fields["vector"], body["settings"]
        if self.product == "elasticsearch":
            need(settings == {}, "no settings")
            keys(vector, "type dims index", "similarity index_options")
            need(vector["type"] == "dense_vector" and 1 <= vector["dims"] <= 4096, "dense_vector")
            need(vector["index"] == ("similarity" in vector), "a similarity where there is a graph")
            dim, metric = vector["dims"], SIMILARITIES[vector["similarity"]] if vector["index"] else None
            if vector["index"]:
                keys(vector["index_options"], "type m ef_construction")
        else:
            keys(vector, "type dimension", "method")
            need(vector["type"] == "knn_vector" and 1 <= vector["dimension"] <= 16_000, "knn_vector")
            need(settings == ({"index": {"knn": True}} if "method" in vector else {}), "index.knn")
            dim, metric = vector["dimension"], None
            if "method" in vector:
                keys(vector["method"], "name engine space_type parameters")
                need(vector["method"]["engine"] == "lucene", "an engine that knows all spaces")
                metric = SPACES[vector["method"]["space_type"]]
        self.indexes[name] = {"mappings": body["mappings"], "dim": dim, "metric": metric, "rows": {}}
        self.indexes[name]["matrix"] = None
        return {"acknowledged": True, "shards_acknowledged": True, "index": name}

    def _bulk(self, lines: list[Any]) -> Any:
        items, waiting = [], iter(lines)
        for line in waiting:
            ((action, at),) = line.items()
            keys(at, "_index _id")
            need(0 < len(at["_id"].encode()) <= 512, "an _id of at most 512 bytes")
            need(action in ("index", "delete"), "an action")
            index = self.indexes[at["_index"]]
            index["matrix"] = None
            if action == "delete":
                there = index["rows"].pop(at["_id"], None) is not None
                items.append({"delete": {**at, "status": 200 if there else 404}})
                continue
            source = next(waiting)
            keys(source, "id vector values metadata fields")
            need(len(source["vector"]) == index["dim"], "as many dims as the mapping says")
            need(all(type(each) is str and len(each) < 32_766 for each in source["fields"]), "keywords")
            base64.b64decode(source["values"], validate=True)
            vector = np.array(source.pop("vector"), np.float32)
            index["rows"][at["_id"]] = (source, vector)
            items.append({"index": {**at, "status": 201}})
        return {"took": 1, "errors": False, "items": items}

    def _mget(self, name: str, body: Any) -> Any:
        keys(body, "docs")
        docs = []
        for each in body["docs"]:
            keys(each, "_id _source")
            found = self.indexes[name]["rows"].get(each["_id"])
            one = {"_index": name, "_id": each["_id"], "found": found is not None}
            docs.append(one | ({} if found is None else {"_source": shown(found[0], each["_source"])}))
        return {"docs": docs}

    def _search(self, name: str, body: Any) -> Any:
        index = self.indexes[name]
        need(1 <= body.get("size", 0) <= MOST, "a size within the result window")
        if "sort" in body:
            keys(body, "size _source sort", "search_after")
            need(body["sort"] == [{"id": "asc"}], "a sort")
            after = body.get("search_after", [""])
            rows = sorted((row for row in index["rows"].items() if row[1][0]["id"] > after[0]), key=by_id)
            hits = [hit(name, *row, body["_source"], sort=[row[1][0]["id"]]) for row in rows[: body["size"]]]
            return answered(hits)
        filters, vector, metric, k = self._ranking(index, body)
        rows, matrix = self._matrix(index)
        if filters:
            at = [place for place, row in enumerate(rows) if passes(row[1][0], filters)]
            rows, matrix = [rows[place] for place in at], matrix[at]
        if not rows:
            return answered([])
        scores = score(np.array(vector, np.float32), matrix, metric)
        best = np.argsort(-scores, kind="stable")[: min(k, body["size"])]
        return answered([hit(name, *rows[at], body["_source"], _score=float(scores[at])) for at in best])

    def _matrix(self, index: Any) -> tuple[list[Any], Any]:
        """All rows and their vectors, put together once for many searches."""
        if index["matrix"] is None:
            rows = list(index["rows"].items())
            index["matrix"] = rows, np.array([row[1][1] for row in rows]).reshape(len(rows), index["dim"])
        return index["matrix"]

    def _ranking(self, index: Any, body: Any) -> tuple[list[Any], Any, str, int]:
        if "knn" in body:
            need(self.product == "elasticsearch", "knn at the top is Elasticsearch's")
            keys(body, "size _source knn")
            asked = body["knn"]
            keys(asked, "field query_vector k num_candidates", "filter")
            need(asked["field"] == "vector" and asked["k"] <= asked["num_candidates"] <= MOST, "candidates")
            return asked.get("filter", []), asked["query_vector"], index["metric"], asked["k"]
        keys(body, "size _source query")
        if "knn" in body["query"]:
            need(self.product == "opensearch", "knn as a query is OpenSearch's")
            keys(body["query"]["knn"], "vector")
            asked = body["query"]["knn"]["vector"]
            keys(asked, "vector k", "filter")
            return chosen(asked.get("filter")), asked["vector"], index["metric"], asked["k"]
        keys(body["query"], "script_score")
        asked = body["query"]["script_score"]
        keys(asked, "query script")
        filters, script = chosen(asked["query"]), asked["script"]
        if self.product == "elasticsearch":
            keys(script, "source params")
            keys(script["params"], "vector")
            return filters, script["params"]["vector"], SCRIPTS[script["source"]], body["size"]
        keys(script, "lang source params")
        need((script["lang"], script["source"]) == ("knn", "knn_score"), "the script knn_score")
        keys(script["params"], "field query_value space_type")
        metric = SPACES[script["params"]["space_type"]]
        return filters, script["params"]["query_value"], metric, body["size"]


def chosen(query: Any) -> list[Any]:
    """The filters of a bool query."""
    if query is None:
        return []
    keys(query, "bool")
    keys(query["bool"], "filter")
    return list(query["bool"]["filter"])


def passes(source: Any, filters: list[Any]) -> bool:
    for each in filters:
        keys(each, "terms")
        keys(each["terms"], "fields")
        if not set(each["terms"]["fields"]) & set(source["fields"]):
            return False
    return True


def score(query: Any, rows: Any, metric: str) -> Any:
    """Scores as the documents give them, with a float's digits."""
    near, far = query.astype(np.float64), rows.astype(np.float64)
    dots = far @ near
    if metric == "cosine":
        return (1 + dots / np.linalg.norm(far, axis=1) / np.linalg.norm(near)).astype(np.float32)
    if metric == "l2":
        return (1 / (1 + np.linalg.norm(far - near, axis=1))).astype(np.float32)
    return np.where(dots < 0, 1 / (1 - np.minimum(dots, 0)), dots + 1).astype(np.float32)


def by_id(row: Any) -> str:
    return row[1][0]["id"]


def shown(source: Any, wanted: Any) -> Any:
    need(wanted == ["id", "values", "metadata"], "which fields of the source")
    return {name: source[name] for name in wanted}


def hit(index: str, key: str, row: Any, wanted: Any, **more: Any) -> Any:
    return {"_index": index, "_id": key, "_source": shown(row[0], wanted), **more}


def answered(hits: list[Any]) -> Any:
    return {"took": 1, "timed_out": False, "hits": {"total": {"value": len(hits)}, "hits": hits}}


@contextlib.contextmanager
def recorded_server(product: str, received: Path | None = None) -> Iterator[tuple[str, Engine]]:
    """The address of a stand-in on loopback, and what it saw; a request beyond the contract fails the test.

    Every body that it is sent is added to the file `received`.
    """
    engine = Engine(product)

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            engine.seen_headers.append(dict(self.headers))
            if received is not None:
                with engine.lock, received.open("ab") as file:
                    file.write(data)
            kind = self.headers.get("Content-Type", "")
            status, body = engine.answer(self.command, self.path, kind, data)
            answer = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = do_PUT = do_DELETE = _serve

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", engine
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert engine.violations == []
