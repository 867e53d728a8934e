"""The variants of the game: tables are built for them, and games are refereed by their rules."""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Never

from tbgen.errors import UsageError, quote, require_type


class Resets(Enum):
    """The moves that reset the accrued score to the position score after the move.

    Code that depends on the resets or on the variant matches all cases, and passes any other case to
    :func:`unlisted_error`. So mypy reports each place where a new case is missing.
    """

    ZEROING_MOVES = "captures and pawn moves"
    NOTHING = "nothing"


class Variant(StrEnum):
    """A variant of the game; the value of a member is its name in options, files and JSON documents.

    The library uses the word ``variant`` where options, files and JSON documents use ``rules``.

    An unknown name raises :class:`~tbgen.errors.UsageError`.

    >>> Variant("wg").label
    'whole-game mobility'
    """

    R_MOBILITY = "r"
    """Captures and pawn moves reset the accrued score to the next position score (TCEC's main rules)."""
    WHOLE_GAME = "wg"
    """Nothing resets the accrued score; the best score of all moves counts (section 9 of docs/theory.md)."""

    @classmethod
    def _missing_(cls, value: object) -> Never:
        require_type("the rules", value, str, "their name")
        names = " and ".join(f"{variant.value!r} ({variant.label})" for variant in cls)
        raise UsageError(f"there are no rules {quote(str(value))}; tables are built for the rules {names}")

    @property
    def label(self) -> str:
        """The name for readers."""
        match self:
            case Variant.R_MOBILITY:
                return "r-mobility"
            case Variant.WHOLE_GAME:
                return "whole-game mobility"
            case other:
                raise unlisted_error(other)

    @property
    def explanation(self) -> str:
        """The difference from r-mobility, as a relative clause; empty for r-mobility."""
        match self:
            case Variant.R_MOBILITY:
                return ""
            case Variant.WHOLE_GAME:
                return "in which no move resets the accrued score"
            case other:
                raise unlisted_error(other)

    @property
    def resets(self) -> Resets:
        """The moves that reset the accrued score."""
        match self:
            case Variant.R_MOBILITY:
                return Resets.ZEROING_MOVES
            case Variant.WHOLE_GAME:
                return Resets.NOTHING
            case other:
                raise unlisted_error(other)

    def is_reset_by(self, is_zeroing: bool) -> bool:
        """Return whether a move resets the accrued score.

        :param is_zeroing: whether the move is a capture or a pawn move.
        """
        match self.resets:
            case Resets.ZEROING_MOVES:
                return is_zeroing
            case Resets.NOTHING:
                return False
            case other:
                raise unlisted_error(other, self)

    @property
    def layered(self) -> bool:
        """Whether the values for accrued scores have to be solved, layer by layer, and stored.

        Otherwise, these values follow from the fresh value (section 9 of docs/theory.md).
        """
        match self.resets:
            case Resets.ZEROING_MOVES:
                return True
            case Resets.NOTHING:
                return False
            case other:
                raise unlisted_error(other, self)


def unlisted_error(case: Never, variant: Variant | None = None) -> UsageError:
    """Return the error for a variant, or a kind of resets, that the calling code does not support.

    Like :func:`typing.assert_never`, it makes mypy report a case that is not handled. The error has a message
    for users.

    :param variant: the variant if the case is a kind of resets; None if the case is the variant.
    """
    return UsageError(f"tbgen does not support this for the rules {variant or case}: use r-mobility (r)")
