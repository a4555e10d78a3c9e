"""More spaces, one file each: set systems, codes, matrices over Z_m, subsets of an abelian group, points in space."""
