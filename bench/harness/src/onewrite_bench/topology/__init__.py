"""Starts every server of the bench: the only place that does."""
