"""The names of the losses of external models. The shipped models have the cross entropy of classes."""

CROSS_ENTROPY, MSE, L1, BINARY_CROSS_ENTROPY = "cross_entropy", "mse", "l1", "binary_cross_entropy"
LOSSES = (CROSS_ENTROPY, MSE, L1, BINARY_CROSS_ENTROPY)
