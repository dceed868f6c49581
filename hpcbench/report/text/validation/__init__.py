"""Sentences on validations."""
