"""The command line: each command is a module with ``configure(parser)`` and ``run(arguments)``."""

import os
import signal
import sys


def entry_point() -> None:
    """Run the command line and leave the process with its exit code."""
    from tbgen.cli.main import main
    from tbgen.cli.streams import replace_closed

    replace_closed()
    code = main(sys.argv[1:])
    if code == 128 + signal.SIGINT:
        # Kernels cannot be interrupted, and a plain exit would wait for those at work in other threads.
        os._exit(code)
    sys.exit(code)
