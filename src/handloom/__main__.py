"""`python -m handloom` is the `handloom` command."""

from handloom.cli import main

main()
