"""Devices as the predictor sees them: their rates, memory and power."""
