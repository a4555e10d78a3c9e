"""Sharing models with other tools: what leaves for them, and what comes in."""
