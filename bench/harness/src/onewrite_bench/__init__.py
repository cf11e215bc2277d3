"""The bench: runs scenarios against language drivers through real proxies and judges the results.

It uses drivers through the driver protocol, never an adapter. No user of onewrite needs it at run time.
"""
