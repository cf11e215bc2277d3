"""The contract as data: requirements of the texts, cases, the examples, and whether they fit together."""
