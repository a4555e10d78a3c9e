"""The text of the standard programs, by family; `handloom.write.standard` has them by name."""
