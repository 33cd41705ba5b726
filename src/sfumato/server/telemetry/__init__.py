"""What is told of the gateway's work: figures, for Prometheus and OpenTelemetry alike, and traces."""
