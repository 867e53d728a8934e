"""The command line: each command is a module whose function ``run`` is a click command."""

import gc
import os
import signal
import sys
from contextlib import suppress

from tbgen.system.signals import END_SIGNALS


def entry_point() -> None:
    """Run the command line and end the process with its exit code."""
    try:
        from tbgen.cli.main import main
        from tbgen.cli.streams import prepare_streams, raise_on_termination_signals

        prepare_streams()
        raise_on_termination_signals()
        code = main(sys.argv[1:])
    except KeyboardInterrupt as interrupt:  # perhaps a second one
        _ignore_end_signals()
        with suppress(OSError):
            print(f"tbgen: {str(interrupt) or 'interrupted'}", file=sys.stderr)
        code = 128 + getattr(interrupt, "number", signal.SIGINT)
    if code - 128 in END_SIGNALS:
        _ignore_end_signals()
        # A normal exit would wait for kernels in other threads, which cannot be interrupted.
        from tbgen.compiler.cache import remove_fallback

        remove_fallback()
        os._exit(code)
    gc.freeze()  # else the interpreter would look for garbage in all that it has loaded before it ends
    sys.exit(code)


def _ignore_end_signals() -> None:
    """Ignore all further signals, which would end the process with a traceback."""
    for signum in END_SIGNALS:
        signal.signal(signum, signal.SIG_IGN)
