"""Options that several commands share."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tbgen.board.material import MAX_MEN, Material, all_materials
from tbgen.board.scoring import DEFAULT_CUTOFF, DEFAULT_KOMI, Scheme, Scoring
from tbgen.board.variant import Variant
from tbgen.errors import MissingTableError, NoTablesError, TbgenError, UsageError, quote
from tbgen.store.format import default_directory
from tbgen.text import parse_size

if TYPE_CHECKING:
    from tbgen.games.settings import GameOptions

MOST_JOBS: Final = 512
"""More are a mistake on any machine."""

_WHOLE: Final = re.compile(r"[+-]?\d{1,18}", re.ASCII)


def add_directory(parser: argparse.ArgumentParser) -> None:
    """Add ``--dir``."""
    parser.add_argument(
        "--dir", type=Path, metavar="DIR", help="directory of the tables (default: $TBGEN_DIR, else data)"
    )


def add_directories(parser: argparse.ArgumentParser, until: str = "") -> None:
    """Add ``--dir`` for several directories.

    :param until: what else may choose them, to end the sentence.
    """
    parser.add_argument(
        "--dir",
        type=Path,
        nargs="+",
        default=[],
        metavar="DIR",
        help=f"directories of the tables, searched in this order{until} (default: $TBGEN_DIR, else data)",
    )


def directory_of(arguments: argparse.Namespace) -> Path:
    """Return the directory to read tables from; it need not exist.

    :raises TbgenError: if it is something else.
    """
    directory: Path = default_directory() if arguments.dir is None else arguments.dir
    if directory.exists() and not directory.is_dir():
        raise TbgenError(f"{directory} is not a directory; choose another with --dir")
    return directory


def as_given(error: TbgenError, given: Path | None) -> TbgenError:
    """Return an error about missing tables with the directory as the user gave it, others as they are."""
    match error:
        case MissingTableError():
            return MissingTableError(error.material, given, error.rules)
        case NoTablesError():
            return NoTablesError(error.directory, given, error.rules)
    return error


def add_sets(parser: argparse.ArgumentParser, default: str) -> None:
    """Add the choice of tables for :func:`sets_of`; ``default`` says which they are without one."""
    parser.add_argument(
        "materials",
        nargs="*",
        default=[],
        metavar="MATERIAL",
        help=f"material such as KBvK, and those that it rests on (default: {default})",
    )
    parser.add_argument(
        "--men", type=whole_number(2, MAX_MEN), metavar="N", help="all materials of 2 to N men"
    )
    parser.add_argument(
        "--rules",
        choices=[*(variant.value for variant in Variant), "all"],
        default=Variant.R_MOBILITY.value,
        help="tables for r-mobility, for whole-game mobility, or both (default: r)",
    )


def sets_of(arguments: argparse.Namespace) -> tuple[list[Material] | None, list[Variant]]:
    """Return the materials that are chosen, None if none are, and the variants.

    :raises UsageError: if a name means nothing.
    """
    variants = list(Variant) if arguments.rules == "all" else [Variant(arguments.rules)]
    materials = [Material.parse(name) for name in arguments.materials]
    if arguments.men is not None:
        materials += all_materials(arguments.men)
    return materials or None, variants


def add_cells(parser: argparse.ArgumentParser, name: str) -> None:
    """Add the option of that name for a directory of kept cells."""
    parser.add_argument(
        name,
        type=Path,
        metavar="DIR",
        help="keep solved cells in a directory, made if need be, for the next position that needs them: up "
        "to 10 GiB, those used last",
    )


def add_json(parser: argparse.ArgumentParser, what: str) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help=f"print {what}")


def add_scoring(parser: argparse.ArgumentParser) -> None:
    """Add ``--scoring``, ``--cutoff`` and ``--komi``."""
    names = ", ".join(scheme.value for scheme in Scheme)
    parser.add_argument(
        "--scoring",
        metavar="NAME",
        help=f"how a result becomes points: {names} (default: exponential, for games what their tag says)",
    )
    parser.add_argument(
        "--cutoff",
        metavar="G",
        help="score from which on winner and komi give no point for it, and the 50-move rule improving sees "
        f"no progress (default: {DEFAULT_CUTOFF}, for games what their tag says)",
    )
    parser.add_argument(
        "--komi",
        metavar="G",
        help="score to beat with komi and full, in quarters, such as G5.75 for White or mG5.75 for Black "
        f"(default: {DEFAULT_KOMI}; of games with a tag Komi that one counts in any case)",
    )


def scoring_of(arguments: argparse.Namespace) -> Scoring:
    """Return the scoring that the arguments ask for.

    :raises UsageError: if one of them means nothing.
    """
    scheme = Scheme.EXPONENTIAL.value if arguments.scoring is None else arguments.scoring
    return Scoring.parse(scheme, arguments.cutoff, arguments.komi)


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Add ``--rules``, which defaults to r-mobility; its :class:`Variant` is ``arguments.variant``."""
    default = Variant.R_MOBILITY
    add_variant(
        parser,
        default,
        f"r-mobility, or whole-game mobility, in which no move resets the accrued score (default: {default})",
    )


def add_variant(parser: argparse.ArgumentParser, default: Variant | None, text: str) -> None:
    """Add ``--rules`` with another default and help."""
    parser.add_argument(
        "--rules",
        dest="variant",
        action=_StoreVariant,
        choices=[variant.value for variant in Variant],
        default=default,
        help=text,
    )


class _StoreVariant(argparse.Action):
    """Stores the variant that one of the choices stands for."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: Any = None
    ) -> None:
        setattr(namespace, self.dest, Variant(values))


def add_game_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--rules``, ``--fifty-move-rule``, ``--bare-kings``, and the options of :func:`add_scoring`."""
    add_rules(parser)
    parser.add_argument(
        "--fifty-move-rule",
        metavar="NAME",
        help="improving, legacy, cutermob-legacy, otb or none (default: improving for FENs and for games "
        "that cuteRMob refereed by it, else legacy)",
    )
    parser.add_argument(
        "--bare-kings",
        action=argparse.BooleanOptionalAction,
        help="whether bare kings with eight free moves each end a game (default: as the 50-move rule has it)",
    )
    add_scoring(parser)


def game_options_of(arguments: argparse.Namespace) -> GameOptions:
    """Return what the arguments say games are to be refereed and scored by.

    :raises UsageError: if one of them means nothing.
    """
    from tbgen.games.settings import FiftyMoveRule, GameOptions

    rule, scoring = arguments.fifty_move_rule, scoring_of(arguments)
    return GameOptions(
        arguments.variant,
        None if rule is None else FiftyMoveRule(rule),
        None if arguments.cutoff is None else scoring.cutoff,
        arguments.bare_kings,
        None if arguments.scoring is None else scoring.scheme,
        None if arguments.komi is None else scoring.komi,
    )


def add_requirements(parser: argparse.ArgumentParser) -> None:
    """Add ``--require-tables`` and ``--require-proof``."""
    parser.add_argument(
        "--require-tables", action="store_true", help="fail if a table is missing that could say more"
    )
    parser.add_argument(
        "--require-proof",
        action="store_true",
        help="fail also where no table can hold the final position of a stopped game, and nothing else "
        "proves its points",
    )


def whole_number(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return the ``type`` of an option that takes whole numbers in a range."""
    expected = f"at least {least}" if most is None else f"one from {least} to {most}"

    def read(text: str) -> int:
        if not _WHOLE.fullmatch(text.strip()):
            raise argparse.ArgumentTypeError(f"{quote(text)} is not a whole number: give {expected}")
        number = int(text)
        if number < least or (most is not None and number > most):
            size = "small" if number < least else "large"
            raise argparse.ArgumentTypeError(f"{number} is too {size}: give {expected}")
        return number

    return read


def size_in_bytes(text: str) -> int:
    """Read a size, as the ``type`` of an option."""
    try:
        return parse_size(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """Add ``--jobs``."""
    parser.add_argument("--jobs", metavar="N", help="processes to work with (default: one per processor)")


def processors() -> int:
    """Return how many processors this process may use."""
    return len(usable_processors())


def usable_processors() -> list[int]:
    """Return the numbers of the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def jobs_of(arguments: argparse.Namespace) -> int:
    """Return how many processes to work with.

    :raises UsageError: if it is no number from 1 to 512.
    """
    if arguments.jobs is None:
        return processors()
    if not arguments.jobs.isdecimal() or not 1 <= int(arguments.jobs) <= MOST_JOBS:
        raise UsageError(f"--jobs {quote(arguments.jobs)}: expected a number from 1 to {MOST_JOBS}")
    return int(arguments.jobs)
