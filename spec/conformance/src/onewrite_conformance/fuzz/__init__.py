"""The differential fuzzer: random scenarios must have the same results with an adapter and with its stock library."""
