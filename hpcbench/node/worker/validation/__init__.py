"""The validation of an operator: reference with error bounds, gradient check, and repeatability."""
