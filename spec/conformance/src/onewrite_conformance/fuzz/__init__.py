"""Random scripts and random requests must come out the same with an adapter and with its stock library."""
