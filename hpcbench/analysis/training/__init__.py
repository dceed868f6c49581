"""Studies of training."""
