"""Sharing models: they leave for the tools people use, and models of other tools come in.

Public: `export`, which writes a model as a folder in the GPT-2 layout, an ONNX file or text, and `Exported`, what it
returns; `import_model`, which reads a folder of Hugging Face or a checkpoint. The modules behind them are internal.
"""

from handloom.share.formats import Exported, export
from handloom.share.imports import import_model

__all__ = ["Exported", "export", "import_model"]
