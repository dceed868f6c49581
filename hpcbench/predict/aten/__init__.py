"""Operators of PyTorch, as the node lists and profiles them, in the form of the predictor's tables."""
