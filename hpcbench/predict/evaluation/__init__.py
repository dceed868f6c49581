"""Compare predictions with measurements: errors, intervals, order of devices, choice of clocks and limits."""
