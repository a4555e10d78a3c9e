"""Transformers programmed by hand: weights set because one knows why."""

from handloom.write.programs import PROGRAMS, Program, nearest, program

__all__ = ["PROGRAMS", "Program", "nearest", "program"]
