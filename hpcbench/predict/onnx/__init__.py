"""Operators of ONNX graphs, as the node lists them, in the form of the predictor's tables."""
