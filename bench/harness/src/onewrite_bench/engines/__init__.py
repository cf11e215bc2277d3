"""What a scenario measures: POSTs in turns, and the records of other waits."""
