"""The bench: runs scenarios against language drivers through real proxies and judges what it saw.

It uses drivers through the driver protocol, never an adapter. No user of onewrite needs it at run time.
"""
