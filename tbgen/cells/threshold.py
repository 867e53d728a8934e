"""Thresholds of a cell: the search for the positions in which a given score is a bound of the value.

The *prover* of a threshold is White at the lower end and Black at the upper end. A bit for each position says
whether the threshold is proved. What is not known after a move out of the cell counts against the prover.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from tbgen.board.score import NONE, Code, rank_of_code
from tbgen.cells.bounds import LOWER, Block, part_of
from tbgen.cells.cell import MAX_MOBILE, Cell
from tbgen.cells.frames import ARRAY_MEMORY, CellFrame, pool_of_proofs, threaded_map
from tbgen.cells.kernels import threshold as kernels
from tbgen.cells.kernels.threshold import FIRST_RANK, Attractors, ExitScratch, Rounds
from tbgen.cells.kernels.values import mark_proved
from tbgen.cells.routes import Route
from tbgen.compiler.jit import python_of
from tbgen.index.arrays import equal_parts, has_bit
from tbgen.index.layout import SIDES, WHITE_TO_MOVE, Side
from tbgen.moves.kernels.best_exits import GOOD_EXIT
from tbgen.moves.kernels.frame import mark_legal
from tbgen.moves.kernels.moves import MAX_WORD_MOVES, SLICES, move_buffer
from tbgen.moves.kernels.words import Codes, Words
from tbgen.moves.structs import Exits, make_men

_NO_ROUNDS: Final[Rounds] = np.zeros((2, 0), np.uint32)


class Threshold(NamedTuple):
    """A score and an end. The question is in which positions the score bounds the value at this end."""

    end: int
    bound: Code

    @property
    def prover(self) -> Side:
        """The side that proves that the score is a bound: White at the lower end, Black at the upper end."""
        return SIDES[self.end]

    @property
    def swapped(self) -> "Threshold":
        """The threshold with the colours swapped."""
        return Threshold(1 - self.end, Code(255 - self.bound))

    def follows_from(self, code: Code) -> bool:
        """Return whether a bound with the given code at the same end proves the threshold."""
        return code != NONE and (code <= self.bound if self.end == LOWER else code >= self.bound)

    def better(self, code: Code) -> Code:
        """Return the bound of the threshold or the given bound at the same end, whichever proves more."""
        return self.bound if Threshold(self.end, code).follows_from(self.bound) else code


class ThresholdSolution(NamedTuple):
    """The positions of a cell for which a threshold is proved."""

    threshold: Threshold
    proved: Words
    """uint64 (2, words): the positions, fresh, one bit for each slot, by side to move."""
    joined: Codes
    """uint8 (2, slots): the rank at which each position has joined an attractor; (2, 0) if not known."""
    rounds: Rounds = _NO_ROUNDS
    """uint32 (2, slots): the round in which each position has joined an attractor, for proofs; (2, 0) if not
    known.

    The side whose attractor it is can answer every quiet move of a position in which the opponent is to move:
    it can win outside the cell, move to a position that has been settled at a smaller rank, or to one with
    the opponent to move that has joined in an earlier round or, in the same round, in an earlier word."""

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.proved.nbytes + self.joined.nbytes + self.rounds.nbytes

    @property
    def without_rounds(self) -> "ThresholdSolution":
        """The same solution without ``rounds``."""
        return self._replace(rounds=_NO_ROUNDS)

    def depends_on(self, accrued: Code) -> bool:
        """Return whether the answer for a state with this accrued score may differ from that for the fresh
        state."""
        return rank_of_code(accrued) <= _attacker_of(self.threshold)[1]

    def is_proved(self, side: Side, slot: int, accrued: Code | None = None) -> bool:
        """Return whether the threshold is proved for a position with the given side to move.

        :param accrued: the accrued score, whose rank is at most the position rank; None if it is the position
            score. ``joined`` must then be known.
        """
        proved = has_bit(self.proved[side], slot)
        attacker, _ = _attacker_of(self.threshold)
        if accrued is None or not self.depends_on(accrued):
            return proved
        is_early = bool(self.joined[side, slot] <= rank_of_code(accrued))
        favours_attacker = proved == (attacker == self.threshold.prover)
        attacker_holds = (accrued < NONE) == (attacker == WHITE_TO_MOVE)
        attacker_wins = favours_attacker if is_early else attacker_holds
        return attacker_wins == (attacker == self.threshold.prover)


def _attacker_of(threshold: Threshold) -> tuple[Side, int]:
    """Return the side whose attractor decides a threshold, and the greatest rank of the scores that it
    wants."""
    code = threshold.bound if threshold.end == LOWER else 255 - threshold.bound
    return (threshold.prover, code) if code < NONE else (SIDES[1 - threshold.prover], 254 - code)


class CellRanks(NamedTuple):
    """The legal positions of a cell and their ranks, which do not depend on thresholds.

    With more than ``MAX_MOBILE`` mobile men, the ranks would take too much memory. They are then missing here
    and found anew for each threshold, up to the rank that matters.
    """

    legal: Words
    """uint64 (2, words): one bit for each slot, by side to move."""
    rank_bits: Words
    """uint64 (2, words, SLICES): bit-sliced ranks (``tbgen.moves.kernels.moves``); (2, words, 0) if
    missing."""

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.legal.nbytes + self.rank_bits.nbytes


ProofLookup: TypeAlias = Callable[[Route, Threshold], Words | bool]
"""Function that returns after which moves of a route a threshold is proved: the positions of the route's
block, one bit for each slot, at least 64 bits; or True or False for all positions."""


def can_prove_thresholds(cell: Cell) -> bool:
    """Return whether thresholds of a cell can be proved: its bit man is mobile."""
    return any(man.piece for man in cell.mobile)


def proved_after(route: Route, threshold: Threshold, block: Block | None, bound: Code) -> Words | bool:
    """Return the positions of a route for which a threshold follows from bounds, as :data:`ProofLookup` does.

    :param block: the bounds of the positions that the route leads to, if available; as in ``BoundsSource``.
    :param bound: a bound of all these positions.
    """
    if threshold.follows_from(bound):
        return True
    if block is None:
        return False
    value = np.ascontiguousarray(part_of(block, route).value)
    words: Words = np.zeros(max(len(value) // 64, 1), np.uint64)
    mark_proved(value, int(threshold.bound), threshold.end == LOWER, words)
    return words


def find_cell_ranks(frame: CellFrame, threads: int = 1) -> CellRanks:
    """Return the legal positions of a cell and, if it is an ordinary cell, their ranks."""
    words = frame.frame.words
    legal: Words = ARRAY_MEMORY.empty((2, words), np.uint64)
    with threaded_map(threads, frame.size) as thread_map:
        parts = equal_parts(words, threads)
        list(thread_map(lambda part: mark_legal(frame.frame, legal, make_men(), *part), parts))
    slices = SLICES if len(frame.cell.mobile) <= MAX_MOBILE else 0
    return CellRanks(legal, _find_ranks(frame, legal, legal, slices, threads))


def find_good_exits(frame: CellFrame, proofs: Mapping[int, Words | bool], side: Side) -> Words:
    """Return the positions of a cell in which ``side`` is to move and can prove a threshold by a move out of
    the cell.

    :param proofs: maps route numbers to the positions for which the threshold is proved after the route.
    :returns: uint64 (words,), one bit for each slot.
    """
    words = frame.frame.words
    legal, marked = (ARRAY_MEMORY.empty(shape, np.uint64) for shape in ((2, words), words))
    mark_legal(frame.frame, legal, make_men(), 0, words)
    pool = pool_of_proofs(frame, proofs, side)
    kernels.mark_good_exits(frame.frame, pool, side, legal, _exit_scratch(), marked)
    return marked


def _find_ranks(frame: CellFrame, legal: Words, among: Words, slices: int, threads: int) -> Words:
    """Return the ranks of the positions ``among`` the legal ones of a cell, as ``Attractors.rank_bits``.

    :param slices: number of bits of a rank. Ranks that need more bits become the greatest possible.
    """
    rank_bits: Words = ARRAY_MEMORY.empty((*legal.shape, slices), np.uint64)
    pool = pool_of_proofs(frame, {}, WHITE_TO_MOVE)
    if slices:
        arguments = frame.frame, pool, legal, among, rank_bits
        with threaded_map(threads, frame.size) as thread_map:
            parts = equal_parts(frame.frame.words, threads)
            list(thread_map(lambda part: kernels.count_moves(*arguments, _exit_scratch(), *part), parts))
    return rank_bits


def solve_threshold(
    frame: CellFrame,
    ranks: CellRanks,
    routes: Iterable[Route],
    threshold: Threshold,
    proofs: ProofLookup,
    threads: int = 1,
    *,
    with_joined: bool = True,
    with_rounds: bool = False,
    poll: Callable[[], object] = lambda: None,
) -> ThresholdSolution:
    """Find the positions of a cell for which a threshold is proved.

    :param ranks: the result of :func:`find_cell_ranks`.
    :param routes: all routes out of the cell.
    :param proofs: returns after which moves out of the cell the threshold is proved.
    :param threads: number of threads that look up and find the exits.
    :param with_joined: whether to find ``ThresholdSolution.joined``.
    :param with_rounds: whether to find ``ThresholdSolution.rounds``.
    :param poll: called before each step. An exception that it raises ends the work.
    """
    search = _search_of(frame, ranks, with_joined, with_rounds)
    _join_exits(search, frame, routes, threshold, proofs, threads)
    attacker, last_rank = _attacker_of(threshold)
    if last_rank == 0:
        search = _add_rank_bits(search, frame, search.legal, last_rank, threads)
    for side in SIDES if last_rank >= FIRST_RANK else (attacker,):
        poll()
        kernels.attract_densely(search, side, FIRST_RANK, last_rank == 0)
        kernels.attract(search, side, FIRST_RANK, last_rank == 0)
    if last_rank >= FIRST_RANK:
        search = _add_rank_bits(search, frame, search.open, last_rank, threads)
        _extend(search, attacker, last_rank, poll)
    proved = search.settled  # no longer needed
    defender = 1 - attacker
    proved[attacker] = search.legal[attacker] & ~search.escapes[attacker]
    proved[defender] = search.escapes[defender] & ~search.open[defender]
    if attacker != threshold.prover:
        np.bitwise_xor(search.legal, proved, out=proved)
    return ThresholdSolution(threshold, proved, search.joined, search.rounds)


def _join_exits(
    search: Attractors,
    frame: CellFrame,
    routes: Iterable[Route],
    threshold: Threshold,
    proofs: ProofLookup,
    threads: int,
) -> None:
    """Let the positions with a good exit join their mover's attractor."""
    routes = list(routes)
    with threaded_map(threads, frame.size) as thread_map:
        found = thread_map(lambda route: proofs(route, threshold), routes)
        numbers = (route.number for route in routes)
        pool = pool_of_proofs(frame, dict(zip(numbers, found, strict=True)), threshold.prover)
        parts = equal_parts(frame.frame.words, threads)
        list(thread_map(lambda part: kernels.find_exits(search, pool, _exit_scratch(), *part), parts))


def _add_rank_bits(
    search: Attractors, frame: CellFrame, among: Words, last_rank: int, threads: int
) -> Attractors:
    """Return a search that has the ranks up to ``last_rank`` of the positions ``among`` the legal ones."""
    if search.rank_bits.size:
        return search
    slices = max((last_rank + 1).bit_length(), 2)
    return replace(search, rank_bits=_find_ranks(frame, search.legal, among, slices, threads))


def _extend(search: Attractors, attacker: Side, last_rank: int, poll: Callable[[], object]) -> None:
    """Extend both attractors from rank to rank, and the attacker's once more after the last rank.

    Both have been extended at the first rank.
    """
    for rank in range(FIRST_RANK, last_rank + 1):
        for side in SIDES if rank > FIRST_RANK else ():
            poll()
            kernels.attract(search, side, rank, False)
        if kernels.settle(search, rank):
            for side in SIDES if rank < last_rank else (attacker,):
                kernels.join_settled(search, side, rank + 1)
        if not search.open.any():
            return
    poll()
    kernels.attract(search, attacker, last_rank + 1, False)


def _search_of(frame: CellFrame, ranks: CellRanks, with_joined: bool, with_rounds: bool) -> Attractors:
    """Return the data of a search, with uninitialised sets."""
    words = frame.frame.words
    open_, escapes, settled = (ARRAY_MEMORY.empty((2, words), np.uint64) for _ in range(3))
    joined: Codes = ARRAY_MEMORY.empty((2, frame.size if with_joined else 0), np.uint8)
    return Attractors(
        frame=frame.frame,
        legal=ranks.legal,
        rank_bits=ranks.rank_bits,
        open=open_,
        escapes=escapes,
        settled=settled,
        marks=np.zeros((2, -(-words // 64)), np.uint64),
        joined=joined,
        rounds=np.zeros((2, frame.size), np.uint32) if with_rounds else _NO_ROUNDS,
        round=np.zeros(1, np.int64),
        buffer=python_of(move_buffer)(MAX_WORD_MOVES),
        earlier_buffer=python_of(move_buffer)(MAX_WORD_MOVES),
    )


def _exit_scratch() -> ExitScratch:
    return ExitScratch(
        exits=Exits(np.empty(0, np.uint8), np.empty(0, np.uint16), np.empty(0, np.uint16)),
        men=make_men(),
        slices=np.zeros(GOOD_EXIT + 1, np.uint64),
    )
