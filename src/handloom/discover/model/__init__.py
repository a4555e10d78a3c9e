"""The transformer of a discovery run: constructions as tokens, training on the pool, proposing more."""
