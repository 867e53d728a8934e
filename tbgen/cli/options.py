"""Options that several commands share."""

import argparse
from pathlib import Path

from tbgen.errors import TbgenError
from tbgen.scoring import DEFAULT_CUTOFF, DEFAULT_KOMI, Scheme, Scoring
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


def add_scoring(parser: argparse.ArgumentParser) -> None:
    """Add ``--scoring``, ``--cutoff`` and ``--komi``."""
    names = ", ".join(scheme.value for scheme in Scheme)
    parser.add_argument(
        "--scoring",
        metavar="NAME",
        default=Scheme.EXPONENTIAL.value,
        help=f"how a result becomes points: {names} (default: %(default)s)",
    )
    parser.add_argument(
        "--cutoff",
        metavar="G",
        help=f"score from which on winner and komi give no point for it (default: {DEFAULT_CUTOFF})",
    )
    parser.add_argument(
        "--komi",
        metavar="G",
        help="score to beat with komi and full, in quarters, such as G5.75 for White or mG5.75 for Black "
        f"(default: {DEFAULT_KOMI})",
    )


def scoring_of(arguments: argparse.Namespace) -> Scoring:
    """Return the scoring that the arguments ask for.

    :raises UsageError: if one of them means nothing.
    """
    return Scoring.parse(arguments.scoring, arguments.cutoff, arguments.komi)
