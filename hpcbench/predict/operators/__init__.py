"""Operators as numbers: the bounds of their time on a device, and features without a dimension."""
