"""The profile of the operators of a network, as data."""
