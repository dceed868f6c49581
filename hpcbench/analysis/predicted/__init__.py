"""Predictions that were made before a measurement, next to the measured values."""
