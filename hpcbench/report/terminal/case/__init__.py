"""Everything about one case on a terminal: a file for each part."""
