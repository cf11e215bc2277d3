"""Where a request's time went. No module here imports a base library or the wire."""
