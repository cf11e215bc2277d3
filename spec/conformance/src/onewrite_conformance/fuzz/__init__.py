"""The differential fuzzer: chance stories must come out the same with an adapter and with its stock library."""
