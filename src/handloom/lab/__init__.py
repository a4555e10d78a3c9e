"""Claims of the literature as experiments: what was claimed, what came out here."""
