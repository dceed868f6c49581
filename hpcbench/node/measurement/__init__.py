"""Timing of steps: warm-up, measurements, and when there are enough. It imports core only: every layer may use it."""
