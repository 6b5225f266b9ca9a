"""The program `tinytrain`: ``python -m tinytrain``."""

import signal
import sys

from ._tinytrain import main as _main


def main():
    """Run the program with the words of the command line."""
    # Ctrl-C ends the program as it does outside Python.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdout.flush()
    sys.exit(_main(["tinytrain", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
