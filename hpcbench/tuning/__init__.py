"""Finding the best setting of an experiment with as little measuring as that takes.

Pure, but for `bench` and `section_search`, which measure, and `kept`.
"""
