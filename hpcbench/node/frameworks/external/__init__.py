"""What external models, those of a library or of the user's function, have in common in all frameworks."""
