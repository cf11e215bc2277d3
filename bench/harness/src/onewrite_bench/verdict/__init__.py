"""Results and verdicts."""
