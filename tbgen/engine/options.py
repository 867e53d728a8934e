"""UCI options of the engine: their descriptions, defaults and current values."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, get_type_hints

from tbgen.board.score import GScore
from tbgen.errors import UsageError, default_directory, quote
from tbgen.games.game_options import FiftyMoveRule
from tbgen.system.files import split_paths

_EMPTY: Final = "<empty>"
_INTEGER_PATTERN: Final = re.compile("-?[0-9]{1,9}")


class Option(NamedTuple):
    """An option as the protocol describes it.

    :ivar limits_text: the part of the description after the default: bounds or the possible values.
    :ivar expected: the accepted values, described for messages.
    :ivar accepts: function that returns whether a string is accepted.
    :ivar parse: function that converts an accepted string to the value.
    """

    name: str
    type: str
    default: str
    limits_text: str = ""
    expected: str = "any text"
    accepts: Callable[[str], bool] = lambda _: True
    parse: Callable[[str], Any] = str


def _spin_option(name: str, default: int, low: int, high: int, scale: Callable[[int], float] = int) -> Option:
    def accepts(text: str) -> bool:
        return bool(_INTEGER_PATTERN.fullmatch(text)) and low <= int(text) <= high

    limits, expected = f" min {low} max {high}", f"a number from {low} to {high}"
    return Option(name, "spin", str(default), limits, expected, accepts, lambda text: scale(int(text)))


def _combo_option(name: str, default: str, *words: str, parse: Callable[[str], Any] = str) -> Option:
    variants = "".join(f" var {word}" for word in words)
    return Option(name, "combo", default, variants, f"one of {', '.join(words)}", words.__contains__, parse)


def _check_option(name: str, default: str) -> Option:
    return Option(name, "check", default, "", "true or false", ("true", "false").__contains__, "true".__eq__)


def _text_option(name: str, parse: Callable[[str], Any] = str) -> Option:
    return Option(name, "string", "", parse=parse)


def _split_pairs(text: str) -> list[tuple[str, str, str]]:
    return [part.partition("=") for part in text.split("|") if part]


def _are_pairs(text: str) -> bool:
    return all(name.strip() and equals for name, equals, _ in _split_pairs(text))


def _parse_pairs(text: str) -> dict[str, str]:
    return {name.strip(): value.strip() for name, _, value in _split_pairs(text)}


_PAIRS_SYNTAX: Final = "NAME=VALUE, several separated by |"


class Options:
    """The current values of the options, which the engine lists in the order of these attributes.

    :param directories: default of the option Directory; empty for tbgen's default directory.
    :param partner_command: default of the option Partner.
    """

    hash: Annotated[int, _spin_option("Hash", 64, 1, 65536)]
    """Size of the transposition table in mebibytes."""
    directories: Annotated[list[Path], _text_option("Directory", split_paths)]
    """Directories of tables; empty for the default directory."""
    accrued: Annotated[GScore | None, _text_option("Accrued", lambda s: GScore.parse(s) if s else None)]
    """Accrued score to use for FENs that do not contain one; None if not set."""
    rule: Annotated[
        FiftyMoveRule, _combo_option("FiftyMoveRule", FiftyMoveRule.NONE, *FiftyMoveRule, parse=FiftyMoveRule)
    ]
    """The 50-move rule."""
    solve: Annotated[str, _combo_option("Solve", "off", "off", "auto", "on")]
    """Whether to solve positions: ``off``, ``auto`` (if there is enough time) or ``on``."""
    waits_for_loading: Annotated[bool, _check_option("Wait", "true")]
    """Whether ``readyok`` waits for tables and compiled code."""
    partner_command: Annotated[str, _text_option("Partner")]
    """Command line of the partner, a UCI engine that plays chess; empty for no partner."""
    partner_options: Annotated[
        dict[str, str], Option("PartnerOptions", "string", "", "", _PAIRS_SYNTAX, _are_pairs, _parse_pairs)
    ]
    """Options of the partner, by name."""
    blunder_rate: Annotated[float, _spin_option("Strength", 100, 0, 100, lambda strength: 1 - strength / 100)]
    """Probability that a move is chosen at random."""
    best_count: Annotated[int, _spin_option("MultiPV", 1, 1, 256)]
    """Number of best moves to report."""
    overhead: Annotated[float, _spin_option("Move Overhead", 100, 0, 10_000, lambda ms: ms / 1000)]
    """Seconds that each move loses between engine and clock."""
    ponder: Annotated[bool, _check_option("Ponder", "false")]
    """Whether the user interface may let the engine think on its opponent's time."""
    chess960: Annotated[bool, _check_option("UCI_Chess960", "false")]
    """Whether castling is written as in Chess960."""
    variant: Annotated[str, _combo_option("UCI_Variant", "rmobility", "chess", "rmobility")]
    """Variant that the user interface has selected; the engine plays r-mobility in any case."""

    def __init__(self, directories: Sequence[Path] = (), partner_command: str = "") -> None:
        self._defaults = {name: option.default for name, (_, option) in OPTIONS.items()}
        self._defaults["Directory"] = os.pathsep.join(map(str, directories or [default_directory()]))
        self._defaults["Partner"] = partner_command
        for name, default in self._defaults.items():
            self.set(name, default)

    def set(self, name: str, text: str) -> str:
        """Set an option, and return its name in its canonical capitalization.

        :param name: the name; its case does not matter.
        :raises UsageError: if there is no option of this name, or the option does not accept the value.
        """
        canonical_name = next((each for each in OPTIONS if each.lower() == name.lower()), None)
        if canonical_name is None:
            raise UsageError(f"there is no option {quote(name)}; the options are {', '.join(OPTIONS)}")
        field, option = OPTIONS[canonical_name]
        value = text.removeprefix(_EMPTY) if option.type == "string" else text.lower()
        if not option.accepts(value):
            raise UsageError(f"{canonical_name} must be {option.expected}, not {quote(text)}")
        setattr(self, field, option.parse(value))
        return canonical_name

    def lines(self) -> Iterator[str]:
        """Yield, for each option, the line of the protocol that describes it."""
        for name, default in self._defaults.items():
            option = OPTIONS[name][1]
            yield f"option name {name} type {option.type} default {default or _EMPTY}{option.limits_text}"


def _find_options() -> Iterator[tuple[str, Option]]:
    for field, hint in get_type_hints(Options, include_extras=True).items():
        yield field, hint.__metadata__[0]


OPTIONS: Final = {option.name: (field, option) for field, option in _find_options()}
"""Maps the name of each option to the name of the attribute that holds its value, and to its description."""
