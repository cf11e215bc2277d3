"""The measurements of a scenario: POSTs in turns, constant rates, and the records of other waits."""
