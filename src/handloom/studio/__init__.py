"""The studio: the workbench in a browser. Public: `Studio`, what it knows, and `serve`, the server of it.

The server stays on this machine and asks for a key; the page that it serves has an engine of its own, so that every
change of a model is seen at once. Python is asked for what only Python knows: models on disk, tasks, runs, proofs.
"""

from handloom.studio.desk import Studio
from handloom.studio.server import serve

__all__ = ["Studio", "serve"]
