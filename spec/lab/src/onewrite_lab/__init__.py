"""The wire lab: a server that counts segments, and readers of the kernel's account of a connection.

It imports neither the judge, the bench nor the command line tool.
"""

__all__ = ["__version__"]

__version__ = "0.1.0"
