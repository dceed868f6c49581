"""Predict the cases of a sweep before it starts: for sweep --predict."""
