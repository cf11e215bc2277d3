"""What leaves the client, and how. No module here imports a base library or the timing."""
