"""Starts the servers of the bench."""
