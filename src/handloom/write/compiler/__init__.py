"""The compiler: programs of a small language become exact transformers. `handloom.language` has its words."""

from handloom.write.compiler.compile import compile
from handloom.write.compiler.costs import cost_of
from handloom.write.compiler.source import TokenProgram
from handloom.write.compiler.stored import stored_program

__all__ = ["TokenProgram", "compile", "cost_of", "stored_program"]
