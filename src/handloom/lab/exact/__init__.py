"""Claims that can be checked exactly, by identities and simulations, with NumPy alone."""
