"""Options that several commands share."""

import argparse
from pathlib import Path


def add_directory(parser: argparse.ArgumentParser) -> None:
    """Add ``--dir``."""
    parser.add_argument(
        "--dir", type=Path, metavar="DIR", help="directory of the tables (default: $TBGEN_DIR, else data)"
    )


def add_json(parser: argparse.ArgumentParser, what: str) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help=f"print {what}")
