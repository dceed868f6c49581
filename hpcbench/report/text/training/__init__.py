"""Results of trainings as text."""
