"""Text and Markdown from results."""
