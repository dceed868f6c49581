"""The time of operators on devices: launch costs, efficiencies, and what devices have in common."""
