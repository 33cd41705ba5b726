"""A transformer as an ONNX graph that is built here, from weights that are at hand; run by ONNX Runtime."""
