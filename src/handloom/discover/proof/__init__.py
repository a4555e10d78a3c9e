"""Proofs of optimality: upper bounds for problems of many elements without forbidden sets, by OR-Tools CP-SAT.

    import handloom as hl

    hl.prove("isosceles:n=6")                  # isosceles:n=6: 9 is optimal, proved in 0.8 s; …
    hl.prove("four-cycle-free:n=12", count=True).classes

family.py has the forbidden sets, clauses.py and cliques.py two encodings of them, symmetric.py, fixing.py and parts.py
what makes a proof short, solver.py the calls of the solver, optima.py the number of optimal constructions, bounding.py
the whole.
"""

from handloom.discover.proof.bounding import prove
from handloom.discover.proof.proof import Proof

__all__ = ["Proof", "prove"]
