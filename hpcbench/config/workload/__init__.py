"""The parameters that describe what a case computes: its model, input and data."""
