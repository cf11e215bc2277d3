"""The measurements of a scenario: POSTs in turns, and the records of other waits."""
