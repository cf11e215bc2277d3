"""The seams: one module per class of urllib3 that is extended or patched."""
