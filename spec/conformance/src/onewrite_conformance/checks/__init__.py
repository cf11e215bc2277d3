"""Compares an observation with the expectations of its case. Nothing here runs a driver."""
