"""The variants of r-mobility chess that tables are built for and games are refereed by."""

from __future__ import annotations

from enum import StrEnum

from tbgen.errors import UsageError, quote


class Variant(StrEnum):
    """What becomes of the accrued score at a capture or a pawn move; the value is its name outside.

    The library says ``variant`` where options, files and JSON documents say ``rules``.

    >>> Variant.parse("wg").label
    'whole-game mobility'
    """

    R_MOBILITY = "r"
    """Captures and pawn moves reset it to the score of the position they lead to (TCEC's main rules)."""
    WHOLE_GAME = "wg"
    """Nothing resets it: the best score of the whole game counts (section 9 of docs/theory.md)."""

    @classmethod
    def parse(cls, text: str) -> Variant:
        """Read the name of a variant; a variant stays what it is.

        :raises UsageError: if there is none of that name.
        """
        try:
            return cls(text)
        except ValueError:
            known = " and ".join(f"{variant.value!r} ({variant.label})" for variant in cls)
            raise UsageError(
                f"there are no rules {quote(text)}; tables are built for the rules {known}"
            ) from None

    @property
    def label(self) -> str:
        """Its name for readers."""
        return "r-mobility" if self.resets else "whole-game mobility"

    @property
    def resets(self) -> bool:
        """Whether captures and pawn moves reset the accrued score."""
        return self is Variant.R_MOBILITY
