"""Options of UCI engines: which of them users may set, and the values that an engine accepts.

The partner of the engine and the engines of matches share these rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from tbgen.errors import UsageError, printable, quote

if TYPE_CHECKING:
    from chess.engine import Option

MANAGED_OPTIONS: Final[Mapping[str, tuple[str, str]]] = {
    "Ponder": ("false", "engines think in their own time only"),
    "MultiPV": ("1", "the number of lines is set for each move"),
    "UCI_Chess960": ("", "it is set for each game from its start position"),
    "UCI_Variant": ("", "it is rmobility for an engine that knows this, otherwise chess"),
}
"""For each engine option that users cannot set: the accepted value, and why other values are ignored."""


def settable_options(
    options: Iterable[tuple[str, str]], managed: Mapping[str, tuple[str, str]], warn: Callable[[str], object]
) -> dict[str, str]:
    """Return the options of engines that users may set; the last value of a repeated option counts.

    As UCI requires, names are compared regardless of case and of the number of blanks between words.

    :param managed: the options that users cannot set, as in :data:`MANAGED_OPTIONS`.
    :param warn: called with a sentence for each setting that has no effect.
    """
    managed_values = {name.lower(): entry for name, entry in managed.items()}
    settings: dict[str, tuple[str, str]] = {}
    for spelling, value in options:
        name = " ".join(spelling.split())
        accepted_value, reason = managed_values.get(name.lower(), (None, ""))
        if accepted_value is None:
            settings[name.lower()] = name, value.strip()
        elif value.strip().lower() != accepted_value:
            warn(f"option.{printable(name)}={printable(value)} has no effect: {reason}")
    return dict(settings.values())


def options_for(engine_options: Mapping[str, Option], settings: Mapping[str, str]) -> dict[str, str | None]:
    """Map each option's name, as the engine spells it, to its value. The value of a button is None.

    :param engine_options: the options of an engine, with look-ups regardless of case.
    :raises UsageError: if the engine does not have an option, or an option cannot have the given value.
    """
    values: dict[str, str | None] = {}
    for name, value in settings.items():
        option = engine_options.get(name)
        if option is None:
            names = f": the engine has: {printable(', '.join(engine_options))}" if engine_options else ""
            raise UsageError(f"there is no option {quote(name)}{names}")
        choices = {"check": ("true", "false"), "combo": option.var or ()}.get(option.type)
        if choices is not None:
            spelling = next((choice for choice in choices if choice.lower() == value.lower()), None)
            if spelling is None:
                raise UsageError(
                    f"{printable(option.name)} is one of {printable(', '.join(choices))}, not {quote(value)}"
                )
            value = spelling
        values[option.name] = None if option.type == "button" else value
    return values
