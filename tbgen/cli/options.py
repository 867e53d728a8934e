"""Options that several commands share."""

import argparse
from pathlib import Path

from tbgen.errors import TbgenError
from tbgen.store.format import default_directory


def add_directory(parser: argparse.ArgumentParser) -> None:
    """Add ``--dir``."""
    parser.add_argument(
        "--dir", type=Path, metavar="DIR", help="directory of the tables (default: $TBGEN_DIR, else data)"
    )


def directory_of(arguments: argparse.Namespace) -> Path:
    """Return the directory to read tables from; it need not exist.

    :raises TbgenError: if it is something else.
    """
    directory: Path = default_directory() if arguments.dir is None else arguments.dir
    if directory.exists() and not directory.is_dir():
        raise TbgenError(f"{directory} is not a directory; choose another with --dir")
    return directory


def add_json(parser: argparse.ArgumentParser, what: str) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help=f"print {what}")
