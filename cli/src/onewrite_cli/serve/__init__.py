"""`onewrite serve`: the tool is the client, and judges how the answers of a server leave."""
