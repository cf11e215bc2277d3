"""Runs cases against drivers, several at a time; what failed is judged again alone; known failures."""
