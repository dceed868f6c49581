"""The result of `hpcbench predict` in words and columns, for the terminal, the page and JSON."""
