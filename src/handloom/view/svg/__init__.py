"""Drawings as SVG, without a library."""
