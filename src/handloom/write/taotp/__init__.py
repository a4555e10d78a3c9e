"""The TAOTP language: a transformer as text, its weights written as Python literals. docs/taotp.md describes it."""

from handloom.write.taotp.places import TextError
from handloom.write.taotp.reader import load_taotp, read_taotp
from handloom.write.taotp.rewriting import Change, with_weights
from handloom.write.taotp.writer import book_entries, save_taotp, write_taotp

__all__ = [
    "Change",
    "TextError",
    "book_entries",
    "load_taotp",
    "read_taotp",
    "save_taotp",
    "with_weights",
    "write_taotp",
]
