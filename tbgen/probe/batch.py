"""Many positions at once: the states of a batch are looked up in the order in which tables store them."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

import chess

from tbgen.errors import TbgenError
from tbgen.probe.moves import RankedMove, order, ranked_moves, reached_by
from tbgen.probe.states import ProbeResult, State, result_of, state_of
from tbgen.probe.values import Values
from tbgen.score import GScore
from tbgen.variant import Variant

BATCH: Final = 65536
"""Positions that are looked up together: the more, the fewer chunks are decoded twice."""

MOVES_BATCH: Final = 2048
"""Positions whose moves are looked up together."""

Question = tuple[chess.Board, GScore | str | None]


def questions(
    boards: Iterable[chess.Board], accrued: Iterable[GScore | str | None] | None
) -> Iterator[Question]:
    """Pair boards with their accrued scores, lazily; ValueError at the end if their numbers differ.

    :raises TypeError: if one score is given in the place of many.
    """
    if accrued is None:
        return ((board, None) for board in boards)
    if isinstance(accrued, str | GScore):
        raise TypeError("one accrued score for many positions: give an iterable with one for each")
    return zip(boards, accrued, strict=True)


def probe_many(
    values: Values, asked: Iterator[Question], size: int = BATCH
) -> Iterator[ProbeResult | TbgenError]:
    """Yield results or errors in the order of the questions, ``size`` of them read ahead."""
    while states := [_state_or_error(*question, values.variant) for question in islice(asked, size)]:
        for state, found in zip(states, values.of_many(states), strict=True):
            if isinstance(state, TbgenError):
                yield state
            else:
                yield found if isinstance(found, TbgenError) else result_of(state, *found)


def moves_many(
    values: Values, asked: Iterator[Question], size: int = MOVES_BATCH
) -> Iterator[list[RankedMove] | TbgenError]:
    """Yield ranked moves or errors in the order of the questions, ``size`` of them read ahead."""
    while batch := list(islice(asked, size)):
        yield from _moves_of_batch(values, batch)


def _moves_of_batch(values: Values, batch: list[Question]) -> Iterator[list[RankedMove] | TbgenError]:
    variant = values.variant
    states = [_state_or_error(*question, variant) for question in batch]
    reached = [
        [] if isinstance(state, TbgenError) or state[0].terminal else reached_by(board, state[1], variant)
        for (board, _), state in zip(batch, states, strict=True)
    ]
    found = iter(values.of_many([(r.position, r.accrued) for after in reached for r in after]))
    for (board, _), state, after in zip(batch, states, reached, strict=True):
        valued = list(islice(found, len(after)))
        known = [value for value in valued if not isinstance(value, TbgenError)]
        if isinstance(state, TbgenError):
            yield state
        elif len(known) < len(valued):
            yield next(value for value in valued if isinstance(value, TbgenError))
        else:
            yield ranked_moves(board, order(board, state[1], after, known))


def _state_or_error(board: chess.Board, accrued: GScore | str | None, variant: Variant) -> State | TbgenError:
    try:
        return state_of(board, accrued, variant)
    except TbgenError as error:
        return error.with_traceback(None)
