"""What user interfaces can set: names, kinds and defaults, and what has been set."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tbgen.board.score import GScore
from tbgen.errors import UsageError, default_directory, quote
from tbgen.games.settings import FiftyMoveRule

_EMPTY: Final = "<empty>"
_WHOLE: Final = re.compile("-?[0-9]{1,9}")


class OptionKind(NamedTuple):
    """Which values an option takes, in the words of the protocol.

    :ivar range: what follows the default where the option is described.
    :ivar expected: for readers.
    """

    type: str
    range: str
    expected: str
    takes: Callable[[str], bool]


def _number(least: int, most: int) -> OptionKind:
    def takes(text: str) -> bool:
        return bool(_WHOLE.fullmatch(text)) and least <= int(text) <= most

    return OptionKind("spin", f" min {least} max {most}", f"a number from {least} to {most}", takes)


def _one_of(*words: str) -> OptionKind:
    variants = "".join(f" var {word}" for word in words)
    return OptionKind("combo", variants, f"one of {', '.join(words)}", words.__contains__)


_YES_NO: Final = OptionKind("check", "", "true or false", ("true", "false").__contains__)
_TEXT: Final = OptionKind("string", "", "any text", lambda _: True)


def _parts(text: str) -> list[tuple[str, str, str]]:
    return [part.partition("=") for part in text.split("|") if text]


_PAIRS: Final = OptionKind(
    "string",
    "",
    "NAME=VALUE, several separated by |",
    lambda text: all(name.strip() and equals for name, equals, _ in _parts(text)),
)


def _pairs(text: str) -> dict[str, str]:
    return {name.strip(): value.strip() for name, _, value in _parts(text)}


class EngineOption(NamedTuple):
    """An option: the field of :class:`Options` that has its value, and how that is made of its text."""

    field: str
    kind: OptionKind
    default: str
    value: Callable[[str], Any] = str


OPTIONS: Final = {
    "Hash": EngineOption("hash", _number(1, 65536), "64", int),
    "Directory": EngineOption(
        "directories", _TEXT, "", lambda text: [Path(part) for part in text.split(os.pathsep) if part]
    ),
    "Accrued": EngineOption("accrued", _TEXT, "", lambda text: GScore.parse(text) if text else None),
    "FiftyMoveRule": EngineOption("rule", _one_of(*FiftyMoveRule), FiftyMoveRule.NONE, FiftyMoveRule),
    "Solve": EngineOption("solve", _one_of("off", "auto", "on"), "off"),
    "Wait": EngineOption("wait", _YES_NO, "true", "true".__eq__),
    "Partner": EngineOption("partner", _TEXT, ""),
    "PartnerOptions": EngineOption("partner_options", _PAIRS, "", _pairs),
    "Strength": EngineOption("blunders", _number(0, 100), "100", lambda text: 1 - int(text) / 100),
    "MultiPV": EngineOption("best", _number(1, 256), "1", int),
    "Move Overhead": EngineOption("overhead", _number(0, 10_000), "100", lambda text: int(text) / 1000),
    "Ponder": EngineOption("ponder", _YES_NO, "false"),
    "UCI_Chess960": EngineOption("chess960", _YES_NO, "false", "true".__eq__),
    "UCI_Variant": EngineOption("variant", _one_of("chess", "rmobility"), "rmobility"),
}
"""All options in the order in which they are described."""


class Options:
    """What is set.

    :param directories: those of tables until others are set; none for the default one.
    :param partner: the command of another engine to play with until it is set.

    :ivar hash: mebibytes for the transposition table.
    :ivar directories: where tables lie; none for the default directory.
    :ivar accrued: the score accrued before a FEN that does not say it.
    :ivar rule: the 50-move rule.
    :ivar solve: when to solve: ``off``, ``auto`` or ``on``.
    :ivar wait: whether ``readyok`` waits for tables and compiled code.
    :ivar partner: the command of another engine to play with; empty for none.
    :ivar partner_options: what is set of its options.
    :ivar blunders: the chance that a move is made at random.
    :ivar best: how many of the best moves are reported.
    :ivar overhead: seconds that get lost on the way to the clock.
    :ivar chess960: whether castling is written as in Chess960.
    """

    hash: int
    directories: list[Path]
    accrued: GScore | None
    rule: FiftyMoveRule
    solve: str
    wait: bool
    partner: str
    partner_options: dict[str, str]
    blunders: float
    best: int
    overhead: float
    chess960: bool

    def __init__(self, directories: Sequence[Path] = (), partner: str = "") -> None:
        self._defaults = {name: option.default for name, option in OPTIONS.items()}
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
        option = OPTIONS[known]
        given = text.removeprefix(_EMPTY) if option.kind.type == "string" else text.lower()
        if not option.kind.takes(given):
            raise UsageError(f"{known} is {option.kind.expected}, not {quote(text)}")
        setattr(self, option.field, option.value(given))
        return known

    def lines(self) -> Iterator[str]:
        """Yield the description of every option for a user interface."""
        for name, default in self._defaults.items():
            kind = OPTIONS[name].kind
            yield f"option name {name} type {kind.type} default {default or _EMPTY}{kind.range}"
