"""The compiler: programs of a small language become exact transformers."""
