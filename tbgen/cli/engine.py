"""``tbgen engine``: a UCI engine that plays r-mobility."""

import io
import sys
from functools import partial
from typing import Annotated

from tbgen.cli.options import Setting, TableDirectories, command


@command
def run(*, directories: TableDirectories, partner: Annotated[str, Setting(metavar="CMD")] = "") -> None:
    """Play r-mobility as a UCI engine, for any user interface that supports the protocol (docs/engine.md).

    In positions that tables hold, the engine plays perfectly, given the score accrued in the game so far. In
    other positions it searches. It reads commands from stdin and answers on stdout, until it reads quit or
    the input ends.

    \b
    For example:
      tbgen engine
      tbgen engine --dir data /mnt/more
      printf 'position fen 8/8/8/4KBk1/8/8/8/8 b - - 0 1\\ngo depth 1\\nisready\\nquit\\n' | tbgen engine

    :param directories: directories of the tables, searched in this order; the UCI option Directory replaces
        them (default: $TBGEN_DIR, else data)
    :param partner: command of another UCI engine, which searches by the rules of chess; where it sees a draw,
        r-mobility decides which of the drawing moves is played
    """
    from tbgen.engine.uci import UciEngine

    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # invalid bytes must not end the engine
    UciEngine(partial(print, flush=True), directories or [], partner).run(sys.stdin or ())
