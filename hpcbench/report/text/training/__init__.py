"""Tables of training as columns of text."""
