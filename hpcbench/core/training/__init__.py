"""What records hold about training."""
