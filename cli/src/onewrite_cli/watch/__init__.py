"""`onewrite watch`: the TCP sockets of a running process, and the bytes that they hold. It changes nothing in it."""
