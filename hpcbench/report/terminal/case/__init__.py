"""The report of one case on a terminal, with a module per section."""
