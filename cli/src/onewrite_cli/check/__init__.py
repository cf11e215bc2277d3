"""`onewrite check`: runs a command against the counting server and judges what it saw."""
