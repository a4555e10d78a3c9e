"""The one error a user of handloom is meant to see.

Its message is a single line: what was wrong, what was expected, what to do. The command line prints it
and exits with code 2; in Python it is a `ValueError`, so code that catches those keeps working.
"""


class HandloomError(ValueError):
    """Something given to handloom cannot be used as it is; the message says why and what would do."""
