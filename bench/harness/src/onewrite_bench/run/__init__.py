"""The commands, and what runs a scenario from topology to report."""
