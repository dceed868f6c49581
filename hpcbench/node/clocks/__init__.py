"""Clocks of devices: run a measurement at several clocks or power limits, and restore the first state in any case."""
