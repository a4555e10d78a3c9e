"""`python -m handloom` is the `handloom` command.

Ctrl-C while it loads just ends it: there is nothing yet to be saved, and a traceback of imports tells nobody anything.
"""

import os
import signal


def main() -> None:
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # not ignored, as it is in the background
        signal.signal(signal.SIGINT, lambda kind, frame: os._exit(130))
    from handloom.cli import main as command

    signal.signal(signal.SIGINT, before)
    command()


if __name__ == "__main__":
    main()
