"""Benchmarks and reproduced experiments. ``python -m benchmarks`` measures; each module also runs alone."""
