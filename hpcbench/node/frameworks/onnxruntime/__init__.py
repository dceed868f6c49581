"""ONNX Runtime, which runs the graph of an ONNX file."""
