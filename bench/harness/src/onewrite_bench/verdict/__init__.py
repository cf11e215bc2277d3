"""Results, and what is concluded from them."""
