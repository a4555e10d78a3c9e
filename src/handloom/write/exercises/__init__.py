"""Answers to the exercises of The Art of Transformer Programming."""
