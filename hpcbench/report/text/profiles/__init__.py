"""Profiles of operators in text columns and sentences."""
