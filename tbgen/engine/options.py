"""What user interfaces can set: names, kinds and defaults, and what has been set."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, get_type_hints

from tbgen.board.score import GScore
from tbgen.errors import UsageError, default_directory, quote
from tbgen.games.settings import FiftyMoveRule

_EMPTY: Final = "<empty>"
_WHOLE: Final = re.compile("-?[0-9]{1,9}")


class Option(NamedTuple):
    """An option in the words of the protocol.

    :ivar range: what follows the default where the option is described.
    :ivar expected: which values it takes, for readers.
    :ivar value: makes a value of the text.
    """

    name: str
    type: str
    default: str
    range: str = ""
    expected: str = "any text"
    takes: Callable[[str], bool] = lambda _: True
    value: Callable[[str], Any] = str


def _number(name: str, default: int, least: int, most: int, value: Callable[[int], float] = int) -> Option:
    def takes(text: str) -> bool:
        return bool(_WHOLE.fullmatch(text)) and least <= int(text) <= most

    limits, expected = f" min {least} max {most}", f"a number from {least} to {most}"
    return Option(name, "spin", str(default), limits, expected, takes, lambda text: value(int(text)))


def _one_of(name: str, default: str, *words: str, value: Callable[[str], Any] = str) -> Option:
    variants = "".join(f" var {word}" for word in words)
    return Option(name, "combo", default, variants, f"one of {', '.join(words)}", words.__contains__, value)


def _yes_no(name: str, default: str) -> Option:
    takes = ("true", "false").__contains__
    return Option(name, "check", default, "", "true or false", takes, "true".__eq__)


def _text(name: str, value: Callable[[str], Any] = str) -> Option:
    return Option(name, "string", "", value=value)


def _paths(text: str) -> list[Path]:
    return [Path(part) for part in text.split(os.pathsep) if part]


def _parts(text: str) -> list[tuple[str, str, str]]:
    return [part.partition("=") for part in text.split("|") if part]


def _are_pairs(text: str) -> bool:
    return all(name.strip() and equals for name, equals, _ in _parts(text))


def _pairs(text: str) -> dict[str, str]:
    return {name.strip(): value.strip() for name, _, value in _parts(text)}


_PAIRS: Final = "NAME=VALUE, several separated by |"


class Options:
    """What is set, by options in the order in which they are described.

    :param directories: those of tables until others are set; none for the default one.
    :param partner: the command of another engine to play with until it is set.
    """

    hash: Annotated[int, _number("Hash", 64, 1, 65536)]
    """Mebibytes for the transposition table."""
    directories: Annotated[list[Path], _text("Directory", _paths)]
    """Where tables lie; none for the default directory."""
    accrued: Annotated[GScore | None, _text("Accrued", lambda text: GScore.parse(text) if text else None)]
    """The score accrued before a FEN that does not say it."""
    rule: Annotated[
        FiftyMoveRule, _one_of("FiftyMoveRule", FiftyMoveRule.NONE, *FiftyMoveRule, value=FiftyMoveRule)
    ]
    """The 50-move rule."""
    solve: Annotated[str, _one_of("Solve", "off", "off", "auto", "on")]
    """When to solve."""
    wait: Annotated[bool, _yes_no("Wait", "true")]
    """Whether ``readyok`` waits for tables and compiled code."""
    partner: Annotated[str, _text("Partner")]
    """The command of another engine to play with; empty for none."""
    partner_options: Annotated[
        dict[str, str], Option("PartnerOptions", "string", "", "", _PAIRS, _are_pairs, _pairs)
    ]
    """What is set of its options."""
    blunders: Annotated[float, _number("Strength", 100, 0, 100, lambda strength: 1 - strength / 100)]
    """The chance that a move is made at random."""
    best: Annotated[int, _number("MultiPV", 1, 1, 256)]
    """How many of the best moves are reported."""
    overhead: Annotated[float, _number("Move Overhead", 100, 0, 10_000, lambda given: given / 1000)]
    """Seconds that get lost on the way to the clock."""
    ponder: Annotated[bool, _yes_no("Ponder", "false")]
    """Whether the user interface may let the engine think in its opponent's time."""
    chess960: Annotated[bool, _yes_no("UCI_Chess960", "false")]
    """Whether castling is written as in Chess960."""
    variant: Annotated[str, _one_of("UCI_Variant", "rmobility", "chess", "rmobility")]
    """Which one is asked for; r-mobility is played in any case."""

    def __init__(self, directories: Sequence[Path] = (), partner: str = "") -> None:
        self._defaults = {name: option.default for name, (_, option) in OPTIONS.items()}
        self._defaults["Directory"] = os.pathsep.join(map(str, directories or [default_directory()]))
        self._defaults["Partner"] = partner
        for name, default in self._defaults.items():
            self.set(name, default)

    def set(self, name: str, text: str) -> str:
        """Set an option and return its name as it is written here.

        :param name: in letters of any case.
        :raises UsageError: if there is no such option, or the value means nothing.
        """
        known = next((each for each in OPTIONS if each.lower() == name.lower()), None)
        if known is None:
            raise UsageError(f"there is no option {quote(name)}: there are {', '.join(OPTIONS)}")
        field, option = OPTIONS[known]
        given = text.removeprefix(_EMPTY) if option.type == "string" else text.lower()
        if not option.takes(given):
            raise UsageError(f"{known} is {option.expected}, not {quote(text)}")
        setattr(self, field, option.value(given))
        return known

    def lines(self) -> Iterator[str]:
        """Yield the description of every option for a user interface."""
        for name, default in self._defaults.items():
            option = OPTIONS[name][1]
            yield f"option name {name} type {option.type} default {default or _EMPTY}{option.range}"


def _options() -> Iterator[tuple[str, Option]]:
    for field, hint in get_type_hints(Options, include_extras=True).items():
        yield field, hint.__metadata__[0]


OPTIONS: Final = {option.name: (field, option) for field, option in _options()}
"""By name, all options with the attribute of :class:`Options` that has the value."""
