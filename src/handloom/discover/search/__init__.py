"""Search for constructions: local search among orbits, annealing by score, symmetry, canonical forms."""
