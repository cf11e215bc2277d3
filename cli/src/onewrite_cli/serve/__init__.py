"""`onewrite check --serve`: the mirror. The tool is the client, and judges how a server's answers leave."""
