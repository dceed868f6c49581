"""Prediction intervals: calibrated on devices and networks that the fit did not see."""
