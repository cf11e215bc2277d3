"""The commands, and the run of a scenario from topology to report."""
