"""The ``tbgen`` command: picks a subcommand and turns every failure into one sentence and an exit code."""

import argparse
import errno
import re
import signal
import sys
from collections.abc import Collection, Sequence
from importlib import import_module
from typing import Any, Final, NoReturn

from tbgen.cli.streams import check_output, discard, say
from tbgen.cli.termination import SigtermError
from tbgen.errors import TbgenError, UsageError, quote

COMMANDS: Final = {
    "build": "make tables, missing sub-tables first",
    "probe": "value, best moves and best play of a position",
    "solve": "the value of a position beyond the tables, or proven bounds of it",
    "adjudicate": "what a game is worth that was stopped, from its PGN or its final position",
    "tag": "results and points into the games of a PGN file",
    "score": "standings, crosstable, Elo and more of the games of PGN files",
    "match": "engines play each other by r-mobility, adjudicated exactly",
    "engine": "a UCI engine that plays r-mobility, for any chess program",
    "serve": "positions on a page, and values, moves and lines by HTTP",
    "report": "a site about tables: statistics, records, what every endgame gives",
    "verify": "prove tables by generating all moves of all positions",
    "fetch": "tables that others have published",
    "publish": "tables for others to fetch, from any web server",
    "info": "which tables are there, and what is in them",
    "cache": "where compiled kernels are kept, and how to remove them",
    "completion": "a script by which a shell completes commands and options",
}
"""The commands and their summaries; each is the module of that name next to this one."""

_DESCRIPTION: Final = "Endgame tablebases of reset-mobility (r-mobility) chess."
_EPILOG: Final = """\
Tables lie in the directory of --dir, else of the environment variable TBGEN_DIR, else in ./data.

Exit codes: 0 done, 1 failed (a damaged file, a full disk), 2 bad input, 3 a table is missing,
130 interrupted (Ctrl-C), 143 terminated (SIGTERM).

examples:
  tbgen build KBvK
  tbgen probe "8/8/8/4KBk1/8/8/8/8 b - - 0 1" --line
"""

_SHORTAGES: Final = (errno.EMFILE, errno.ENFILE, errno.EAGAIN)
"""What a system says that gives no more files or processes."""

_SCORE: Final = re.compile("-[Gg]")
_TAKING_MINUS: Final = ("--accrued", "--cutoff", "--komi", "--memory", "--solve-memory")
_TAKING_FENS: Final = (["probe"], ["solve"], ["adjudicate"])
_COUNTER: Final = re.compile("[0-9]+")
"""The last word before the seventh field of a FEN."""


class Parser(argparse.ArgumentParser):
    """Reports a misuse as an error of the package, in one sentence."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        """Raise the misuse.

        :raises UsageError: always.
        """
        raise UsageError(f"{message}; see: {self.prog} --help")


class _Version(argparse.Action):
    """Prints the version, and looks it up only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        import tbgen

        print(f"tbgen {tbgen.__version__}")
        parser.exit()


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except TbgenError as error:
        return _fail(str(error), error.exit_code)
    except SigtermError:
        return _fail("terminated", 128 + signal.SIGTERM)
    except KeyboardInterrupt:
        return _fail("interrupted", 128 + signal.SIGINT)
    except BrokenPipeError:
        discard(sys.stdout.fileno())  # its reader has seen enough
        return 128 + signal.SIGPIPE
    except OSError as error:
        source = "the system" if error.errno in _SHORTAGES else "output"
        return _fail(f"{error.filename or source}: {error.strerror or error}", 1)
    except MemoryError:
        return _fail("not enough memory", 1)
    return code


def make_parser(configured: Collection[str] = tuple(COMMANDS)) -> Parser:
    """Return the parser of all commands.

    :param configured: those that get their arguments; the modules of the others stay unimported.
    """
    parser = Parser(prog="tbgen", description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", title="commands")
    for name, summary in COMMANDS.items():
        command = subparsers.add_parser(name, help=summary)
        if name in configured:
            import_module(f"tbgen.cli.{name}").configure(command)
    return parser


def _run(arguments: Sequence[str]) -> int:
    parser = make_parser([word for word in arguments if word in COMMANDS][:1])
    parsed, unknown = parser.parse_known_args(_with_scores_attached(arguments))
    if unknown:
        raise UsageError(f"{quote(' '.join(unknown))} means nothing here; see: tbgen {parsed.command} --help")
    check_output()
    code: int = import_module(f"tbgen.cli.{parsed.command}").run(parsed)
    return code


def _with_scores_attached(arguments: Sequence[str]) -> list[str]:
    """Attach what begins with a minus to the word before it, or argparse would take it for an option: Black's
    score in ``--accrued -G5.5``, a size that is refused, and the seventh field of a FEN without quotes."""
    attached: list[str] = []
    for word in arguments:
        if attached and attached[-1] in _TAKING_MINUS and word.startswith("-") and not word.startswith("--"):
            attached[-1] += f"={word}"
        elif _SCORE.match(word) and attached[:1] in _TAKING_FENS and _COUNTER.fullmatch(attached[-1]):
            attached[-1] += f" {word}"
        else:
            attached.append(word)
    return attached


def _fail(sentence: str, code: int) -> int:
    say(f"tbgen: {sentence}")
    return code
