"""The judge: plays the cases of spec/ through a driver and compares what arrives with the contract and with stock."""

__all__ = ["__version__"]

__version__ = "0.1.0"
