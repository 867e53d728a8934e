"""``tbgen engine``: a UCI engine that plays r-mobility."""

import argparse
import io
import sys

from tbgen.cli.options import add_directories

_DESCRIPTION = """\
Play r-mobility as a UCI engine, for any user interface that knows the protocol (docs/engine.md): perfectly
where tables reach, with the accrued score of the moves that led to the position; else by a search. It reads
commands on stdin and answers on stdout until quit or the end of input.
"""
_EPILOG = """\
examples:
  tbgen engine
  tbgen engine --dir data /mnt/more
  printf 'position fen 8/8/8/4KBk1/8/8/8/8 b - - 0 1\\ngo depth 1\\nisready\\nquit\\n' | tbgen engine
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    add_directories(parser, ", until the option Directory says otherwise")


def run(arguments: argparse.Namespace) -> int:
    """Play."""
    from tbgen.engine.uci import UciEngine

    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # whatever comes, it is no reason to end
    UciEngine(_write, arguments.dir).run(sys.stdin or ())
    return 0


def _write(line: str) -> None:
    print(line, flush=True)
