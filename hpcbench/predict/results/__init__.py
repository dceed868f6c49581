"""Predictions of the cases of an experiment on devices, as one table, and what they recommend."""
