"""Building of the environments of frameworks from recipes, and finding the Python of each."""
