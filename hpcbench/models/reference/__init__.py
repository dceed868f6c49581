"""Reference results in float64 with error bounds, and reverse-mode differentiation, in NumPy alone."""
