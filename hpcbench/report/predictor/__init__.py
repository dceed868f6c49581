"""Text of the predictor: scores of an evaluation, and what models rest on."""
