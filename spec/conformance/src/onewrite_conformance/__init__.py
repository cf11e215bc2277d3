"""The judge: runs the cases of spec/ against a driver and says what it saw on the wire.

`witness` looks at a client's sockets from outside, `tap` is the server that counts,
`driver` speaks the driver protocol, `runner` puts them together.
"""

__all__ = ["__version__"]

__version__ = "0.1.0"
