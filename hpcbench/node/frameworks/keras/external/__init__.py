"""Models of keras.applications and of the user's functions on all backends of Keras."""
