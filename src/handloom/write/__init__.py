"""Transformers programmed by hand: weights set because one knows why."""

from handloom.write.catalogue import PROGRAMS, Program
from handloom.write.certificate import Certificate
from handloom.write.certificates import certify
from handloom.write.programs import nearest, program, task, task_of

__all__ = ["PROGRAMS", "Certificate", "Program", "certify", "nearest", "program", "task", "task_of"]
