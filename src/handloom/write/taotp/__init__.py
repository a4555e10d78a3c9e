"""The TAOTP language: a transformer as text, its weights written as Python literals. docs/taotp.md describes it."""

from handloom.write.taotp.language import load_taotp, read_taotp, save_taotp, write_taotp

__all__ = ["load_taotp", "read_taotp", "save_taotp", "write_taotp"]
