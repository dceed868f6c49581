"""Files of measurements that the predictor is fitted on and evaluated with."""
