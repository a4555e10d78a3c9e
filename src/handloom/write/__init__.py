"""Transformers programmed by hand: weights set because one knows why."""

from handloom.write.catalogue import PROGRAMS, Program
from handloom.write.programs import program

__all__ = ["PROGRAMS", "Program", "program"]
