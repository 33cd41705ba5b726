"""A receiver of OpenTelemetry's protocol over HTTP on loopback, which keeps every byte it is sent."""

from __future__ import annotations

import contextlib
import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


def _value(found):
    return getattr(found.value, found.value.WhichOneof("value"))


class Received:
    """Everything that came, as bytes and as the protocol means it."""

    def __init__(self) -> None:
        self.bodies: list[tuple[str, bytes]] = []
        self.headers: list[str] = []
        self.url = ""

    @property
    def everything(self) -> bytes:
        return b"\n".join(body for _, body in self.bodies) + "\n".join(self.headers).encode()

    def _parsed(self, path, kind):
        return [kind.FromString(body) for where, body in list(self.bodies) if where == path]

    def resources(self) -> list[dict]:
        sent = self._parsed("/v1/traces", ExportTraceServiceRequest)
        found = [each.resource for one in sent for each in one.resource_spans]
        return [{item.key: _value(item) for item in each.attributes} for each in found]

    def spans(self) -> list[dict]:
        """Name, ids, duration and attributes of each span."""
        rows = []
        for one in self._parsed("/v1/traces", ExportTraceServiceRequest):
            for span in (s for each in one.resource_spans for scope in each.scope_spans for s in scope.spans):
                rows.append({
                    "name": span.name, "trace": span.trace_id.hex(), "id": span.span_id.hex(),
                    "parent": span.parent_span_id.hex(), "begun": span.start_time_unix_nano,
                    "ended": span.end_time_unix_nano, "events": len(span.events), "state": span.trace_state,
                    **{item.key.removeprefix("sfumato."): _value(item) for item in span.attributes},
                })  # fmt: skip
        return rows

    def figures(self) -> dict[str, dict]:
        """The last value of each figure by its labels; of a histogram count and sum."""
        found: dict[str, dict] = {}
        for one in self._parsed("/v1/metrics", ExportMetricsServiceRequest):
            scopes = [scope for each in one.resource_metrics for scope in each.scope_metrics]
            for metric in (metric for scope in scopes for metric in scope.metrics):
                data = getattr(metric, metric.WhichOneof("data"))
                for point in data.data_points:
                    labels = tuple(sorted((item.key, _value(item)) for item in point.attributes))
                    spread = hasattr(point, "bucket_counts")
                    value = (point.count, point.sum) if spread else point.as_double or point.as_int
                    found.setdefault(metric.name, {})[labels] = value
        return found


@contextlib.contextmanager
def receiving():
    """Take in what is sent until the block ends."""
    kept = Received()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            kept.headers.append(str(self.headers))
            kept.bodies.append((self.path, body))
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        kept.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield kept
        finally:
            server.shutdown()
            thread.join()
