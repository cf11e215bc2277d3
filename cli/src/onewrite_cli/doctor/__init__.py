"""`onewrite doctor`: asks a URL whether its first hop makes a split request wait."""
