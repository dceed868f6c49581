"""The environments of frameworks: build them from recipes, and find the Python of each."""
