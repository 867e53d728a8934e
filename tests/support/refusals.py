"""Helpers for tests of errors and their messages."""

from collections.abc import Callable

from tbgen.errors import UsageError


def refusal(act: Callable[..., object], *given: object) -> str:
    """The sentence with which a call is refused: one that can be printed, and not too long.

    :raises AssertionError: naming what was given, if it is not refused.
    """
    try:
        act(*given)
    except UsageError as error:
        sentence = str(error)
        assert sentence.isprintable(), given
        assert 10 < len(sentence) < 300, given
        return sentence
    raise AssertionError(f"{given!r} is not refused")
