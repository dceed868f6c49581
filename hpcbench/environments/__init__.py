"""The environments that frameworks run in: building them from recipes, and finding the Python of each."""
