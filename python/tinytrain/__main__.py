"""The program `tinytrain`: ``python -m tinytrain``."""

import signal
import sys

from ._tinytrain import main as _main


def main():
    """Run the program with the words of the command line."""
    # The program ends by Ctrl-C as it does elsewhere.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdout.flush()
    sys.exit(_main(["tinytrain", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
