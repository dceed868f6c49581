"""Predictions in words and columns, for the terminal and the page."""
