"""Constant-rate generators, and the one form of what they measure."""
