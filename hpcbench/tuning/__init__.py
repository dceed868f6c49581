"""Finding the best setting of an experiment with as little measuring as that takes: pure, but for `kept`."""
