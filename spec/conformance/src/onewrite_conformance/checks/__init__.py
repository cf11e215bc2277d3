"""What was seen, held against what a case expects. Nothing here runs anything."""
