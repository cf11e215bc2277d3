"""The bench: runs scenarios against language drivers through real proxies and judges what it saw.

It knows drivers and the driver protocol, never an adapter. Nothing here is needed at run time by a user of onewrite.
"""
