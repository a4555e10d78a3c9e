"""Search for constructions: local search among orbits, annealing by score, symmetry, canonical forms. For the loop:
`attempts` (one search each) and `canonical` (forms, so that each construction is kept once)."""
