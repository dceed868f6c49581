"""The time of image networks that are known by name: rooflines of their operators, and what measurements correct."""
