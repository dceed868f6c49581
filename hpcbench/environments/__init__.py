"""Build the environments of frameworks from recipes, and find the Python of each."""
