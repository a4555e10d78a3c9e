"""The standard programs of the language, in one table that drives their tests, their sizes and their documentation.

>>> from handloom.write.compiler.standard import standard
>>> standard("reverse", n=5)("abc>")
'cba'
"""

from handloom.write.compiler.standard.table import STANDARD, Standard, standard

__all__ = ["STANDARD", "Standard", "standard"]
