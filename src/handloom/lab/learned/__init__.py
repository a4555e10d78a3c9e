"""Claims about what small networks learn."""
