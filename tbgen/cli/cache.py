"""``tbgen cache``: the compiled kernels on disk."""

import argparse
import json

from tbgen.cli.options import add_json
from tbgen.compiler.cache import cached_kernels, clear
from tbgen.files import write_errors
from tbgen.text import size_text

_DESCRIPTION = """\
Print where compiled kernels are kept and how large they are, or remove them. They lie in the directory
"kernels" of $NUMBA_CACHE_DIR, else in tbgen/kernels of $XDG_CACHE_HOME or of ~/.cache, and are compiled again
when they are needed. Nothing else is kept outside of the directories of tables.
"""
_EPILOG = """\
examples:
  tbgen cache
  tbgen cache --clear
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    parser.add_argument("--clear", action="store_true", help="remove the kernels of all versions")
    add_json(parser, "directory and sizes as one JSON document")


def run(arguments: argparse.Namespace) -> int:
    """Print, and remove if asked."""
    found = cached_kernels()
    if arguments.clear:
        with write_errors(found.directory, remedy="remove it by hand"):
            clear()
    if arguments.json:
        document = {
            "directory": str(found.directory),
            "current_bytes": found.current_bytes,
            "other_bytes": found.other_bytes,
            "cleared": arguments.clear,
        }
        print(json.dumps(document))
        return 0
    removed = "removed " if arguments.clear else ""
    print(
        f"{found.directory}: {removed}{size_text(found.current_bytes)} of this version, "
        f"{size_text(found.other_bytes)} of others"
    )
    return 0
