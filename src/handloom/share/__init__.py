"""Models for other tools and from other tools."""
