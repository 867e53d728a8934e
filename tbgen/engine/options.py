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

_PAIRS_SYNTAX: Final = "NAME=VALUE, several separated by |"


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

    limits = f" min {low} max {high}"
    expected = f"a number from {low} to {high}"
    return Option(name, "spin", str(default), limits, expected, accepts, parse=lambda text: scale(int(text)))


def _combo_option(name: str, default: str, *words: str, parse: Callable[[str], Any] = str) -> Option:
    variants = "".join(f" var {word}" for word in words)
    expected = f"one of {', '.join(words)}"
    return Option(name, "combo", default, variants, expected, accepts=lambda text: text in words, parse=parse)


def _check_option(name: str, default: str) -> Option:
    def accepts(text: str) -> bool:
        return text in ("true", "false")

    return Option(name, "check", default, "", "true or false", accepts, parse=lambda text: text == "true")


def _text_option(name: str, parse: Callable[[str], Any] = str) -> Option:
    return Option(name, "string", "", parse=parse)


def _split_pairs(text: str) -> list[tuple[str, str, str]]:
    return [part.partition("=") for part in text.split("|") if part]


def _are_pairs(text: str) -> bool:
    return all(name.strip() and equals for name, equals, _ in _split_pairs(text))


def _parse_pairs(text: str) -> dict[str, str]:
    return {name.strip(): value.strip() for name, _, value in _split_pairs(text)}


class Options:
    """The current values of the options, which the engine lists in the order of these attributes.

    The attributes are described as users set them; they hold seconds and shares as ``float``.

    :param directories: default of the option Directory; empty for tbgen's default directory.
    :param partner_command: default of the option Partner.
    """

    hash: Annotated[int, _spin_option("Hash", 64, 1, 65536)]
    """Mebibytes for the transposition table."""
    directories: Annotated[list[Path], _text_option("Directory", split_paths)]
    """Directories of tables, separated by ``:``, on Windows by ``;``. Names of existing directories may
    contain these. The default is that of ``--dir``."""
    accrued: Annotated[GScore | None, _text_option("Accrued", lambda s: GScore.parse(s) if s else None)]
    """The score accrued before a FEN of six fields: ``G3.5``, or ``-G3.5`` or ``mG3.5`` if Black holds it."""
    rule: Annotated[
        FiftyMoveRule, _combo_option("FiftyMoveRule", FiftyMoveRule.NONE, *FiftyMoveRule, parse=FiftyMoveRule)
    ]
    """The 50-move rule (docs/referee.md). The rules ``improving`` and ``cutermob-legacy`` also end games of
    bare kings."""
    solve: Annotated[str, _combo_option("Solve", "off", "off", "auto", "on")]
    """Whether ``tbgen solve`` works alongside the search; ``auto`` means for moves that have 30 seconds or
    more."""
    waits_for_loading: Annotated[bool, _check_option("Wait", "true")]
    """Whether ``readyok`` waits until tables and compiled code are loaded."""
    partner_command: Annotated[str, _text_option("Partner")]
    """The shell command of the partner, a UCI engine that plays chess (default: that of ``--partner``)."""
    partner_options: Annotated[
        dict[str, str],
        Option("PartnerOptions", "string", "", "", _PAIRS_SYNTAX, accepts=_are_pairs, parse=_parse_pairs),
    ]
    """Options of the partner: ``NAME=VALUE``, several separated by a vertical bar."""
    blunder_rate: Annotated[float, _spin_option("Strength", 100, 0, 100, lambda strength: 1 - strength / 100)]
    """Below 100, a move is a random legal move with a probability of 100 minus this number, in per cent."""
    best_count: Annotated[int, _spin_option("MultiPV", 1, 1, 256)]
    """Number of best moves to report, each with its line. Where a partner is consulted, only one move is
    reported."""
    overhead: Annotated[float, _spin_option("Move Overhead", 100, 0, 10_000, lambda ms: ms / 1000)]
    """Milliseconds per move that are lost between the program and the engine. Five times this time is kept on
    the clock as a reserve. At most half of an increment and a fiftieth of ``movetime`` count as lost."""
    ponder: Annotated[bool, _check_option("Ponder", "false")]
    """Whether the program lets the engine think during its opponent's time."""
    chess960: Annotated[bool, _check_option("UCI_Chess960", "false")]
    """Whether castling is written as in Chess960. Both notations are read."""
    variant: Annotated[str, _combo_option("UCI_Variant", "rmobility", "chess", "rmobility")]
    """The variant that the program has selected; ``chess`` is for programs that support no other. The engine
    plays r-mobility in any case."""

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
        canonical_name = next((known for known in OPTIONS if known.lower() == name.lower()), None)
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
