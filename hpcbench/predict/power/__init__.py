"""Power and energy of operators and networks, over clocks and power limits."""
