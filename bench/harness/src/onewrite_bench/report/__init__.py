"""Text, Markdown, HTML and percentile files from results."""
