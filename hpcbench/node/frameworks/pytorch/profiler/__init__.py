"""The operator profiler: list the operators of a step, replay each alone, and measure its time and power."""
