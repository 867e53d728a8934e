"""The ``tbgen`` command: it runs a subcommand, and turns every failure into one sentence and an exit code."""

import errno
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Final

import click

from tbgen.cli.streams import TerminationError, ensure_output_open, redirect_to_null, say
from tbgen.errors import TbgenError, printable

COMMANDS: Final = {
    "build": "build tables, missing sub-tables first",
    "probe": "print the value, best moves and best play of a position",
    "solve": "prove the value of a position beyond the tables, or bounds of it",
    "adjudicate": "find the result of a stopped game, from its PGN or its final position",
    "tag": "write results and points into the games of a PGN file",
    "score": "print standings, crosstable, Elo and more of the games in PGN files",
    "match": "let engines play each other by r-mobility, adjudicated exactly",
    "engine": "play r-mobility as a UCI engine, for any chess program",
    "serve": "serve a page to explore positions, and an HTTP API",
    "report": "write a site about tables: statistics, records, typical results",
    "verify": "prove tables by generating all moves of all positions",
    "fetch": "fetch published tables",
    "publish": "publish tables for others to fetch, from any web server",
    "export": "write tables as flat files for programs in C and C++",
    "info": "list and describe tables",
    "cache": "show or clear the cache of compiled kernels",
    "completion": "print a script that lets a shell complete commands, options and names",
}
"""The commands and their summaries. A command is the module of the same name in this package."""

_WITHOUT_OUTPUT: Final = ("match", "serve")
"""Commands that may run without standard output, as daemons do: their results are elsewhere."""

COMPLETION_VARIABLE: Final = "_TBGEN_COMPLETE"
"""The environment variable with which a shell's script asks for completions."""

_SHORTAGE_ERRNOS: Final = (errno.EMFILE, errno.ENFILE, errno.EAGAIN)
"""Error numbers of a system that allows no more open files or processes."""
_SIGPIPE_EXIT_CODE: Final = 128 + 13
"""Exit code of a program that SIGPIPE has ended."""


class Commands(click.Group):
    """The group of all commands. The module of a command is imported when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with the given name; None if no command has it."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"tbgen.cli.{cmd_name}").run
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the summaries of all commands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Commands, no_args_is_help=False, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tbgen", message="tbgen %(version)s")
def tbgen() -> None:
    """Endgame tablebases of reset-mobility (r-mobility) chess.

    Tables are in the directory that --dir names, else in $TBGEN_DIR if that variable is set, else in ./data.

    Exit codes: 0 done, 1 failed (a damaged file, a full disk), 2 bad input, 3 a table is missing,
    129 hung up (SIGHUP), 130 interrupted (Ctrl-C), 141 the reader closed the pipe, 143 terminated (SIGTERM).

    \b
    For example:
      tbgen build KBvK
      tbgen probe "8/8/8/4KBk1/8/8/8/8 b - - 0 1" --line
    """
    ensure_output_open(is_needed=click.get_current_context().invoked_subcommand not in _WITHOUT_OUTPUT)


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    # numba would print its warning about a wrong setting with a traceback.
    warnings.filterwarnings("error", "Environment variable 'NUMBA_", RuntimeWarning)
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except click.exceptions.Exit as exit_request:
        return exit_request.exit_code
    except click.UsageError as error:
        command_name = "tbgen" if error.ctx is None else error.ctx.command_path
        sentence = printable(" ".join(error.format_message().split())).rstrip(".?")
        return _fail(f"{sentence}; see: {command_name} --help", 2)
    except TbgenError as error:
        return _fail(str(error), error.exit_code)
    except TerminationError as error:
        return _fail(str(error), 128 + error.number)
    except KeyboardInterrupt:
        return _fail("interrupted", 128 + signal.SIGINT)
    except BrokenPipeError:
        redirect_to_null(sys.stdout.fileno())  # the reader has closed the pipe
        return _SIGPIPE_EXIT_CODE
    except OSError as error:
        subject = "the system" if error.errno in _SHORTAGE_ERRNOS else "output"
        advice = "; change its permissions, or choose another" if isinstance(error, PermissionError) else ""
        return _fail(f"{error.filename or subject}: {error.strerror or error}{advice}", 1)
    except MemoryError:
        return _fail("not enough memory", 1)
    except (ValueError, RuntimeWarning) as error:
        from tbgen.extras import settings_error

        rejection = settings_error(error)
        if rejection is None:
            raise
        return _fail(str(rejection), rejection.exit_code)
    return code


def _run(arguments: Sequence[str]) -> int:
    if instruction := os.environ.get(COMPLETION_VARIABLE):
        from click.shell_completion import shell_complete

        return shell_complete(tbgen, {}, "tbgen", COMPLETION_VARIABLE, instruction)
    with tbgen.make_context("tbgen", list(arguments)) as context:
        code: int | None = tbgen.invoke(context)
    return code or 0


def _fail(sentence: str, code: int) -> int:
    say(f"tbgen: {sentence}")
    return code
