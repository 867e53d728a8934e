"""``tbgen completion``: a script by which a shell completes commands and options."""

import argparse
from collections.abc import Iterator
from typing import Final

from tbgen.board.material import MAX_MEN, all_materials
from tbgen.errors import needs_extra

_DESCRIPTION: Final = (
    "Print a script by which a shell completes the commands of tbgen, their options and files."
)
_EPILOG: Final = """\
examples:
  tbgen completion bash > ~/.local/share/bash-completion/completions/tbgen
  tbgen completion zsh > ~/.zfunc/_tbgen      # with fpath+=~/.zfunc before compinit in ~/.zshrc
  tbgen completion tcsh > ~/.tbgen.tcsh       # and in ~/.tcshrc: source ~/.tbgen.tcsh
"""
_SHELLS: Final = ("bash", "zsh", "tcsh")
_NAMES: Final = " ".join(material.name for material in all_materials(MAX_MEN))
_MATERIALS: Final = {"bash": "_tbgen_materials", "zsh": f"({_NAMES})", "tcsh": f"({_NAMES})"}
_BASH: Final = f"""\
_tbgen_materials() {{
  compgen -W "{_NAMES}" -- "$1"
}}
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    parser.add_argument("shell", choices=_SHELLS, help="the shell that is to read it")


def run(arguments: argparse.Namespace) -> int:
    """Run the command.

    :raises MissingExtraError: without the package that writes such scripts.
    """
    from tbgen.cli.main import make_parser

    with needs_extra("tbgen completion", "completion"):
        import shtab
    parser = make_parser()
    for action in _arguments(parser):
        if action.metavar == "MATERIAL":
            action.complete = _MATERIALS  # type: ignore[attr-defined]
        elif action.metavar == "DIR":
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
        elif action.metavar == "FILE" or "pgn" in str(action.metavar):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    preamble = _BASH if arguments.shell == "bash" else ""
    print(shtab.complete(parser, arguments.shell, preamble=preamble))
    return 0


def _arguments(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the options and arguments of all commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in dict.fromkeys(action.choices.values()):
                yield from _arguments(command)
        else:
            yield action
