"""Sharing models: they leave for the tools people use.

Public: `export`, which writes a model as a folder in the GPT-2 layout, an ONNX file or text, and `Exported`, what it
returns. The modules behind them are internal.
"""

from handloom.share.formats import Exported, export

__all__ = ["Exported", "export"]
