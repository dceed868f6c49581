"""The predictions of a sweep next to its measured values, in words and columns."""
