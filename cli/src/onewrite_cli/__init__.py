"""`onewrite`: says whether an HTTP client, or the path to a server, loses time to Nagle and delayed ACK."""

__all__ = ["__version__"]

__version__ = "0.1.0"
