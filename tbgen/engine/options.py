"""What user interfaces can set: names, kinds and defaults, and what has been set."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tbgen.board.score import GScore
from tbgen.errors import UsageError, quote
from tbgen.games.settings import FiftyMoveRule
from tbgen.store.format import default_directory

_EMPTY: Final = "<empty>"
_FULL_STRENGTH: Final = 100


class Spin(NamedTuple):
    """A whole number in a range."""

    least: int
    most: int

    def read(self, name: str, text: str) -> str:
        """Return a value as it is kept.

        :raises UsageError: if it is none.
        """
        digits = text.removeprefix("-")
        number = int(text) if digits.isdecimal() and digits.isascii() and len(digits) < 10 else None
        if number is None or not self.least <= number <= self.most:
            raise UsageError(f"{name} is a number from {self.least} to {self.most}, not {quote(text)}")
        return str(number)

    def __str__(self) -> str:
        return f"spin min {self.least} max {self.most}"


class Check(NamedTuple):
    """Yes or no."""

    def read(self, name: str, text: str) -> str:
        """Return a value as it is kept.

        :raises UsageError: if it is none.
        """
        if text.lower() not in ("true", "false"):
            raise UsageError(f"{name} is true or false, not {quote(text)}")
        return text.lower()

    def __str__(self) -> str:
        return "check"


class Choice(NamedTuple):
    """One of some words."""

    words: tuple[str, ...]

    def read(self, name: str, text: str) -> str:
        """Return a value as it is kept.

        :raises UsageError: if it is none.
        """
        if text.lower() not in self.words:
            raise UsageError(f"{name} is one of {', '.join(self.words)}, not {quote(text)}")
        return text.lower()

    def __str__(self) -> str:
        return " ".join(["combo", *(f"var {word}" for word in self.words)])


class Text(NamedTuple):
    """Any text."""

    def read(self, name: str, text: str) -> str:
        """Return a value as it is kept."""
        return "" if text == _EMPTY else text

    def __str__(self) -> str:
        return "string"


class Score(Text):
    """A G-score, or nothing."""

    def read(self, name: str, text: str) -> str:
        """Return a value as it is kept.

        :raises UsageError: if it is none.
        """
        return str(GScore.parse(text)) if text not in ("", _EMPTY) else ""


Kind = Spin | Check | Choice | Text

KINDS: Final[dict[str, tuple[Kind, str]]] = {
    "Hash": (Spin(1, 65536), "64"),
    "Directory": (Text(), ""),
    "Accrued": (Score(), ""),
    "FiftyMoveRule": (Choice(tuple(rule.value for rule in FiftyMoveRule)), FiftyMoveRule.NONE.value),
    "Solve": (Choice(("off", "auto", "on")), "off"),
    "Strength": (Spin(0, _FULL_STRENGTH), str(_FULL_STRENGTH)),
    "MultiPV": (Spin(1, 256), "1"),
    "Move Overhead": (Spin(0, 10_000), "50"),
    "Ponder": (Check(), "false"),
    "UCI_Chess960": (Check(), "false"),
    "UCI_Variant": (Choice(("chess", "rmobility")), "rmobility"),
}
"""All options in the order in which they are told, each with its kind and its default."""


class Options:
    """What is set.

    :param directories: those of tables until others are set; none for the default one.
    """

    def __init__(self, directories: Sequence[Path] = ()) -> None:
        self._values = {name: default for name, (_, default) in KINDS.items()}
        self._values["Directory"] = os.pathsep.join(map(str, directories or [default_directory()]))

    def set(self, name: str, text: str) -> str:
        """Set an option and return its name as it is written here.

        :param name: in letters of any case.
        :raises UsageError: if there is no such option, or the value means nothing.
        """
        known = next((each for each in KINDS if each.lower() == name.lower()), None)
        if known is None:
            raise UsageError(f"there is no option {quote(name)}: there are {', '.join(KINDS)}")
        self._values[known] = KINDS[known][0].read(known, text)
        return known

    def lines(self) -> Iterator[str]:
        """Yield what tells a user interface about the options."""
        for name, (kind, _) in KINDS.items():
            what, *more = str(kind).split(" ", 1)
            default = self._values[name] or _EMPTY
            yield " ".join(["option name", name, "type", what, "default", default, *more])

    @property
    def directories(self) -> list[Path]:
        """Where tables lie; none for the default directory."""
        return [Path(part) for part in self._values["Directory"].split(os.pathsep) if part]

    @property
    def hash(self) -> int:
        """Mebibytes for the transposition table."""
        return int(self._values["Hash"])

    @property
    def accrued(self) -> GScore | None:
        """The score accrued before a FEN that does not say it."""
        return GScore.parse(self._values["Accrued"]) if self._values["Accrued"] else None

    @property
    def rule(self) -> FiftyMoveRule:
        """The 50-move rule."""
        return FiftyMoveRule(self._values["FiftyMoveRule"])

    @property
    def solve(self) -> str:
        """When to solve: ``off``, ``auto`` or ``on``."""
        return self._values["Solve"]

    @property
    def blunders(self) -> float:
        """The chance that a move is made at random."""
        return 1 - int(self._values["Strength"]) / _FULL_STRENGTH

    @property
    def best(self) -> int:
        """How many of the best moves are told of."""
        return int(self._values["MultiPV"])

    @property
    def overhead(self) -> float:
        """Seconds that get lost on the way to the clock."""
        return int(self._values["Move Overhead"]) / 1000

    @property
    def chess960(self) -> bool:
        """Whether castling is written as in Chess960."""
        return self._values["UCI_Chess960"] == "true"
