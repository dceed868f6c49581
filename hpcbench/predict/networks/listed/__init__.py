"""Whole networks from the list of their operators: sums of device times, corrected by measured whole networks."""
