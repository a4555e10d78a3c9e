"""Backgammon: its rules, a network that values positions and learns from its own games, players and judges."""
