"""The command line: each command is a module whose function ``run`` is a click command."""

import gc
import os
import signal
import sys


def entry_point() -> None:
    """Run the command line and end the process with its exit code."""
    try:
        from tbgen.cli.main import main
        from tbgen.cli.streams import prepare_streams, raise_on_termination_signals
        from tbgen.system.signals import END_SIGNALS

        prepare_streams()
        raise_on_termination_signals()
        code = main(sys.argv[1:])
    except KeyboardInterrupt:  # perhaps a second one
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("tbgen: interrupted", file=sys.stderr)
        os._exit(128 + signal.SIGINT)
    if code - 128 in END_SIGNALS:
        for signum in END_SIGNALS:  # one that comes again would end the process with a traceback
            signal.signal(signum, signal.SIG_IGN)
        # A normal exit would wait for kernels in other threads, which cannot be interrupted.
        from tbgen.compiler.cache import remove_fallback

        remove_fallback()
        os._exit(code)
    gc.freeze()  # else the interpreter would look for garbage in all that it has loaded before it ends
    sys.exit(code)
