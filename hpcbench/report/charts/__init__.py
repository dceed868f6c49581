"""Charts: one definition for the page and for a paper."""
