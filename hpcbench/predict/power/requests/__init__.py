"""Requests to language models."""
