"""Training jobs by epoch, whose operators are unknown, under power limits."""
