"""The seams: one module per class of urllib3 that a class of onewrite stands in front of."""
