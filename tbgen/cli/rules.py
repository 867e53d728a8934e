"""The option ``--rules`` of the commands that make and read tables."""

import argparse

from tbgen.store.format import RULES


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Add ``--rules``, which defaults to r-mobility."""
    parser.add_argument(
        "--rules",
        choices=RULES,
        default=RULES[0],
        help="tables for r-mobility, or for whole-game mobility, where no move resets the accrued score "
        f"(default: {RULES[0]})",
    )
