"""The command line: each command is a module with ``configure(parser)`` and ``run(arguments)``."""

import sys


def entry_point() -> None:
    """Run the command line and leave the process with its exit code."""
    from tbgen.cli.main import main

    sys.exit(main(sys.argv[1:]))
