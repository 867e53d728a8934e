"""Many positions at once: the states of a batch are looked up in the order in which tables store them."""

from collections.abc import Iterable, Iterator
from itertools import chain, islice, repeat, zip_longest
from typing import Any, Final, TypeAlias

import chess

from tbgen.board.described import DescribedBoard
from tbgen.board.history import Fresh
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.errors import TbgenError, UsageError, result_or_error
from tbgen.probe.moves import RankedMove, order, ranked_moves, reached_by
from tbgen.probe.states import AnyPosition, AnyScore, ProbeResult, State, result_of, state_of
from tbgen.probe.values import Values

BATCH: Final = 65536
"""Positions that are looked up together: the more, the fewer chunks are decoded twice."""

MOVES_BATCH: Final = 2048
"""Positions whose moves are looked up together."""
_FEW: Final = 8
"""Positions that are looked up one by one: to sort them takes longer than it saves."""

Question: TypeAlias = tuple[AnyPosition, AnyScore]


def questions(
    positions: Iterable[AnyPosition], accrued: Iterable[AnyScore] | Fresh | None
) -> Iterator[Question]:
    """Pair positions with their accrued scores, lazily.

    :raises TypeError: if one position or one score is given in the place of many.
    :raises UsageError: at the end of the shorter, if there are more positions or more accrued scores.
    """
    if isinstance(positions, str | chess.Board | DescribedBoard):
        raise TypeError("one position in the place of many: give an iterable of them")
    if accrued is None or isinstance(accrued, Fresh):
        return zip(positions, repeat(accrued))
    if isinstance(accrued, str | GScore):
        raise TypeError("one accrued score for many positions: give an iterable with one for each")
    return _paired(positions, accrued)


def _paired(positions: Iterable[AnyPosition], accrued: Iterable[AnyScore]) -> Iterator[Question]:
    """Yield positions with their accrued scores.

    :raises UsageError: at the end of the shorter.
    """
    ended: Any = object()
    for number, (position, score) in enumerate(zip_longest(positions, accrued, fillvalue=ended)):
        if position is ended or score is ended:
            few, many = ("positions", "accrued scores")[:: 1 if position is ended else -1]
            raise UsageError(f"there are more {many} than {few}, which are {number}: give as many")
        yield position, score


def probe(values: Values, position: AnyPosition, accrued: AnyScore) -> ProbeResult:
    """Return what :meth:`tbgen.Tablebase.probe` does, and raise as it does."""
    _, state = state_of(position, accrued, values.variant)
    return result_of(state, values.of(state))


def probe_many(
    values: Values, asked: Iterator[Question], size: int = BATCH
) -> Iterator[ProbeResult | TbgenError]:
    """Yield results or errors in the order of the questions, ``size`` of them read ahead."""
    while first := list(islice(asked, min(size, _FEW + 1))):
        if len(first) <= _FEW:
            for question in first:
                yield result_or_error(probe, values, *question)
            continue
        # Without the boards, which take much more room.
        batch = chain(first, islice(asked, size - len(first)))
        states = [_state(*question, values.variant) for question in batch]
        for state, found in zip(states, values.of_many(states), strict=True):
            if isinstance(state, TbgenError):
                yield state
            else:
                yield found if isinstance(found, TbgenError) else result_of(state, found)


def moves_many(
    values: Values, asked: Iterator[Question], size: int = MOVES_BATCH
) -> Iterator[list[RankedMove] | TbgenError]:
    """Yield ranked moves or errors in the order of the questions, ``size`` of them read ahead."""
    while batch := list(islice(asked, size)):
        yield from _moves_of_batch(values, batch)


def _moves_of_batch(values: Values, batch: list[Question]) -> Iterator[list[RankedMove] | TbgenError]:
    about = [result_or_error(state_of, *question, values.variant) for question in batch]
    reached = [
        []
        if isinstance(asked, TbgenError) or asked[1].position.terminal
        else reached_by(asked[0], asked[1].accrued, values.variant)
        for asked in about
    ]
    found = iter(values.of_many([successor.state for after in reached for successor in after]))
    for asked, after in zip(about, reached, strict=True):
        valued = list(islice(found, len(after)))
        known = [value for value in valued if not isinstance(value, TbgenError)]
        if isinstance(asked, TbgenError):
            yield asked
        elif len(known) < len(valued):
            yield next(value for value in valued if isinstance(value, TbgenError))
        else:
            board, state = asked
            yield ranked_moves(board, order(board, state.accrued, after, known))


def _state(given: AnyPosition, accrued: AnyScore, variant: Variant) -> State | TbgenError:
    about = result_or_error(state_of, given, accrued, variant)
    return about if isinstance(about, TbgenError) else about[1]
