"""The compiled search: its values are those of plain minimax, and it respects its limits."""

import random
from collections.abc import Iterator, Mapping

import chess
import numpy as np
import pytest

from tbgen.engine.compiled_search import CompiledSearch
from tbgen.engine.game import Candidate, RootLine, SearchGame, read_game
from tbgen.engine.kernels.board import NOISY_MASK, complete_row, make_move
from tbgen.engine.kernels.estimate import estimate, estimate_drawn
from tbgen.engine.kernels.search import search_root
from tbgen.engine.scale import MATE, SCALE_PLIES, mate_plies, worth
from tbgen.engine.workspace import (
    DISCARDS,
    DRAWN_WORTH,
    ITERATION,
    MAX_NODES,
    PLY_LIMIT,
    REACHABLE_VALUE,
    ROOT_LEAD,
    ROOT_ROW,
    UNPRUNED,
    SearchWorkspace,
)
from tbgen.games.game_options import FiftyMoveRule
from tests.support.engines import game
from tests.support.exhaustive import sample

WORK = SearchWorkspace.with_table_size(4)


def search_of(
    arbiter: SearchGame,
    *,
    unpruned: bool = False,
    lines: int = 1,
    moves: str = "",
    candidates: Mapping[chess.Move, Candidate] | None = None,
) -> CompiledSearch:
    """Return a search with an empty transposition table."""
    WORK.keys[:] = 0
    chosen = [move for move in arbiter.live.legal_moves if not moves or move.uci() in moves.split()]
    search = CompiledSearch(arbiter, chosen, WORK, None, lambda _: False, lines, candidates=candidates)
    WORK.control[UNPRUNED] = unpruned
    return search


def found(search: CompiledSearch, depth: int) -> list[RootLine]:
    """Return all lines that the search reports."""
    told: list[RootLine] = []
    search.run(depth, lambda: False, told.append)
    return told


class FullSearch:
    """Minimax by the games' arbiter; only the estimates are those of the compiled search.

    :param drawn: whether the game is drawn in chess.
    """

    def __init__(self, arbiter: SearchGame, drawn: bool = False) -> None:
        self.game, self.drawn = arbiter, drawn
        self.begun = arbiter.position_count
        self.first = 0 if drawn else self.begun - 1
        search_of(arbiter, candidates={} if drawn else None)
        self.even, self.hope = int(WORK.control[ROOT_LEAD]), int(WORK.control[REACHABLE_VALUE])
        self.rows, self.at = WORK.rows.copy(), int(WORK.control[ROOT_ROW])
        self.moves = np.zeros((1, 256), np.int32)
        self.ends = 0

    def value(self, depth: int) -> int:
        """Return the value of the current state for the side to move."""
        game = self.game
        complete_row(self.rows, self.at, self.moves, 0)
        legal = list(game.live.legal_moves)
        sign = 1 if game.live.turn else -1
        if not legal:
            self.ends += 1
            return -(MATE + SCALE_PLIES) if game.live.is_check() else sign * self.held
        if game.position_count > self.begun and (game.basis is not None or game.repeats_since(self.first)):
            self.ends += 1
            return sign * self.held
        best = sign * self.estimate if depth <= 0 else -2 * MATE
        held = sign * self.held
        for move in self.moves[0, : len(legal)].copy():
            if depth <= 0 and not move & NOISY_MASK:
                continue
            self.make_move(int(move))
            value = -self.value(depth - 1)
            self.unmake()
            best = max(best, value - 1 if value > held else value + 1 if value < held else value)
        return best

    @property
    def held(self) -> int:
        """Return the worth of the accrued score for White."""
        if not self.drawn:
            return worth(self.game.accrued)
        value = int(DRAWN_WORTH[self.game.accrued.rank])
        return value if self.game.accrued.white else -value

    @property
    def estimate(self) -> int:
        """Return the estimate for White."""
        if self.drawn:
            return int(estimate_drawn(self.rows, self.at, WORK.worth, self.even, self.hope))
        return int(estimate(self.rows, self.at, WORK.worth))

    def make_move(self, move: int) -> None:
        """Make a move on both boards."""
        make_move(self.rows, self.at, move)
        self.at += 1
        self.game.play(CompiledSearch._decode(self.game.live, move))

    def unmake(self) -> None:
        """Undo the last move on both boards."""
        self.game.pop()
        self.at -= 1

    def expecting(self, depth: int, candidates: Mapping[chess.Move, Candidate]) -> int:
        """Return the value for the side to move if the other side may give the expected answer."""
        complete_row(self.rows, self.at, self.moves, 0)
        sign = 1 if self.game.live.turn else -1
        best, held = -2 * MATE, sign * self.held
        for move in self.moves[0, : self.game.live.legal_moves.count()].copy():
            candidate = candidates[CompiledSearch._decode(self.game.live, int(move))]
            self.make_move(int(move))
            value = -self.value(depth - 1)
            value = value - 1 if value > held else value + 1 if value < held else value
            over = self.game.basis is not None or self.game.repeats_since(self.first)
            replies = 0 if over else complete_row(self.rows, self.at, self.moves, 0)
            for reply in self.moves[0, :replies].copy():
                if CompiledSearch._decode(self.game.live, int(reply)) == candidate.answer:
                    self.make_move(int(reply))
                    value = (value + self.value(depth - 1)) // 2
                    self.unmake()
            self.unmake()
            best = max(best, value - int(6 * MATE * candidate.cost))
        return best


STARTS = (
    ("8/3k4/3p4/8/4P3/2R5/5K2/3r4", "f2g2 d7e7 g2f2 e7d7"),
    ("8/8/4k3/2n5/5B2/2K5/6P1/8", "c3b2 e6d5 b2c3 d5e6"),
    ("6k1/8/8/8/8/8/1pK5/R7", "a1d1 g8g7 d1a1 g7g8"),
    ("7k/5K2/8/6p1/6P1/8/8/1Q6", ""),
    ("7k/8/5K1p/8/5N2/8/8/8", "f4e6 h8g8 e6f4 g8h8"),
)


def states(seed: int, count: int) -> Iterator[SearchGame]:
    """Yield games with few men and any accrued score, in which positions have occurred before."""
    rng = random.Random(seed)
    for number in range(count):
        pieces, shuffle = STARTS[number % len(STARTS)]
        accrued = rng.choice(("G3.5", "-G1.5", "G9.0", "-G12.5"))
        arbiter = game(f"{pieces} w - - 6 60 {accrued}", *shuffle.split() * (number // 5 % 2))
        for _ in range(rng.randrange(5)):
            quiet = [move for move in arbiter.live.legal_moves if not arbiter.live.is_zeroing(move)]
            if quiet and arbiter.basis is None:
                arbiter.play(rng.choice(quiet))
        if any(arbiter.live.legal_moves):
            yield arbiter


def test_values_are_those_of_minimax() -> None:
    """Without the inexact parts of the search: reductions, null moves, extensions and margins."""
    ends = seen = 0
    for arbiter in states(39, sample(20, 60)):
        few = len(arbiter.live.piece_map()) < 5 and not arbiter.live.rooks
        for depth in (1, 2, 3)[: 2 + few]:
            full = FullSearch(arbiter)
            expected = full.value(depth)
            told = found(search_of(arbiter, unpruned=True), depth)[-1].value
            assert told == (expected if arbiter.live.turn else -expected), (arbiter.live.fen(), depth)
            ends, seen = ends + full.ends, seen + 1
    assert ends > 15
    assert seen > 15


def test_in_a_drawn_game_moves_are_worth_the_mean_of_best_and_expected_answers_less_their_cost() -> None:
    rng = random.Random(64)
    for arbiter in states(39, sample(7, 40)):
        candidates = {}
        for move in list(arbiter.live.legal_moves):
            arbiter.play(move)
            answers = list(arbiter.live.legal_moves)
            candidates[move] = Candidate(rng.random() / 20, rng.choice(answers) if answers else None)
            arbiter.pop()
        for depth in (1, 2):
            expected = FullSearch(arbiter, drawn=True).expecting(depth, candidates)
            search_of(arbiter, unpruned=True, candidates=candidates)
            WORK.control[ITERATION] = depth
            assert search_root(WORK, depth, 0, arbiter.live.legal_moves.count()) == expected


def test_the_best_lines_descend_and_begin_with_different_moves() -> None:
    told = found(search_of(game(chess.STARTING_FEN), lines=4), 5)
    assert [(best.depth, best.place) for best in told] == [(d, n) for d in range(1, 6) for n in range(1, 5)]
    last = told[-4:]
    assert [best.value for best in last] == sorted((best.value for best in last), reverse=True)
    assert len({best.line[0] for best in last}) == 4


def test_the_deepest_search_stays_within_its_workspace() -> None:
    """Two plies before the end of its workspace it estimates, whatever the depth of the search."""
    search = search_of(game("7k/8/8/8/8/8/8/K6R b - - 0 1"), unpruned=True)
    WORK.control[MAX_NODES] = 100_000
    search_root(WORK, 2 * PLY_LIMIT, 0, 3)
    assert search.counts.max_ply == PLY_LIMIT - 2


def test_an_expected_answer_may_castle() -> None:
    """In kernels, castling ends on the rook's square and any other king's move on the king's."""
    arbiter = game("r3k3/8/8/8/8/8/7P/3K4 w q - 0 1")
    (move,) = (move for move in arbiter.live.legal_moves if move.uci() == "h2h3")
    values = []
    for answer in ("e8c8", "e8d8", None):
        candidate = Candidate(0, chess.Move.from_uci(answer) if answer else None)
        search = search_of(arbiter, moves="h2h3", candidates={move: candidate})
        search.run(2, lambda: False, lambda _: None)
        values.append(int(WORK.replies[0]))
    assert values[0] & 63 == chess.E8
    assert values[0] >> 6 & 63 == chess.A8
    assert values[1] >> 6 & 63 == chess.D8
    assert values[2] == 0


def test_the_search_stops_at_its_limit_of_nodes() -> None:
    for nodes in (1, 100, 5000):
        arbiter = game(chess.STARTING_FEN)
        moves = list(arbiter.live.legal_moves)
        search = CompiledSearch(arbiter, moves, WORK, None, lambda _: False, max_nodes=nodes)
        best = search.run(None, lambda: False, lambda _: None)
        assert arbiter.live.is_legal(best.line[0])
        assert nodes < search.nodes < nodes + 3 or best.depth == 1


def test_the_transposition_table_is_used_until_it_is_invalidated() -> None:
    """The table is invalidated when tables of endings have returned new values."""
    arbiter, nodes = game(chess.STARTING_FEN), []
    WORK.keys[:] = 0
    for forgotten in (0, 0, 1):
        search = CompiledSearch(arbiter, list(arbiter.live.legal_moves), WORK, None, lambda _: False)
        WORK.control[DISCARDS] += forgotten
        search.run(4, lambda: False, lambda _: None)
        nodes.append(search.nodes)
    assert nodes[1] < min(nodes[0], nodes[2]) / 2


@pytest.mark.parametrize("rule", FiftyMoveRule)
def test_a_fifty_move_rule_ends_the_game(rule: FiftyMoveRule) -> None:
    """Black holds the score. With two plies remaining, White has no time for a mate in two."""
    fen = "7k/8/8/8/8/8/R7/1R5K w - - 98 80 -G1.0"
    arbiter = read_game(["fen", *fen.split()], rule=rule)
    best = found(search_of(arbiter), 5)[-1]
    assert (mate_plies(best.value) == 3) == (rule is FiftyMoveRule.NONE)
