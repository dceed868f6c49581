"""Predictions on the terminal, as a page and as JSON; scores of an evaluation; and what models are based on."""
