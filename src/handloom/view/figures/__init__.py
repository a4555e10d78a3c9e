"""Figures made with Matplotlib."""
