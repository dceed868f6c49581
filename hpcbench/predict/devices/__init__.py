"""Devices of the predictor: their rates, memory and power."""
