"""The report of a check, as text and in three formats for machines."""
