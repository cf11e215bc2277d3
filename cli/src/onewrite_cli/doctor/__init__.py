"""`onewrite doctor`: does the first hop of a URL make a split request wait?."""
