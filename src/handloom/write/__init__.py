"""Transformers programmed by hand: weights set because one knows why."""

from handloom.write.catalogue import PROGRAMS, Program, program, prover_of

__all__ = ["PROGRAMS", "Program", "program", "prover_of"]
