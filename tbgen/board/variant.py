"""The variants of r-mobility chess that tables are built for and games are refereed by."""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Never

from tbgen.errors import UsageError, quote


class Resets(Enum):
    """What resets the accrued score to the score of the position that a move leads to.

    Code that depends on it, or on the variant, matches all cases and gives any other to :func:`unlisted`, so
    that mypy names each place where a new case is missing.
    """

    ZEROING_MOVES = "captures and pawn moves"
    NOTHING = "nothing"


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
        match self:
            case Variant.R_MOBILITY:
                return "r-mobility"
            case Variant.WHOLE_GAME:
                return "whole-game mobility"
            case other:
                raise unlisted(other)

    @property
    def resets(self) -> Resets:
        """What resets the accrued score."""
        match self:
            case Variant.R_MOBILITY:
                return Resets.ZEROING_MOVES
            case Variant.WHOLE_GAME:
                return Resets.NOTHING
            case other:
                raise unlisted(other)

    def is_reset_by(self, zeroing: bool) -> bool:
        """Tell whether a move resets the accrued score.

        :param zeroing: whether it is a capture or a pawn move.
        """
        match self.resets:
            case Resets.ZEROING_MOVES:
                return zeroing
            case Resets.NOTHING:
                return False
            case other:
                raise unlisted(other)

    @property
    def layered(self) -> bool:
        """Whether the values of accrued scores have to be solved, layer by layer, and stored; if not, they
        follow from the fresh value alone (section 9 of docs/theory.md)."""
        match self.resets:
            case Resets.ZEROING_MOVES:
                return True
            case Resets.NOTHING:
                return False
            case other:
                raise unlisted(other)


def unlisted(case: Never) -> UsageError:
    """Return the error to raise for a variant, or for what resets it, that code does not list:
    :func:`typing.assert_never` for users."""
    return UsageError(f"this is not known for the rules {case}; use those of r-mobility (r)")
