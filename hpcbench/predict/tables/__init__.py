"""The tables that the predictor is fitted on and asked about: operators, networks, and the operators of networks."""
