"""Studies of validations."""
