"""What hpcbench itself measured, in the form of the predictor's tables."""
