"""The arbiter in random games: it agrees, ply by ply, with a literal implementation of the rules."""

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import chess
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tbgen.board.rules import position_score
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.games.game_options import FiftyMoveRule
from tbgen.games.outcome import Basis
from tbgen.games.referee import Arbiter
from tests.games.referee.test_arbiter import seen
from tests.support.exhaustive import sample

pytestmark = pytest.mark.filterwarnings("ignore:the seventh field")


@dataclass
class Play:
    """The rules of a game."""

    rule: str
    cutoff: GScore
    bare_kings: bool
    variant: Variant


class Literal:
    """A literal referee, which replays the game from its start for each query."""

    def __init__(self, fen: str, seventh: GScore | None, play: Play) -> None:
        self.boards = [chess.Board(fen, chess960=True)]
        self.scores = [score(self.boards[0])]
        self.diagrams = [diagram(self.boards[0])]
        self.moves: list[chess.Move] = []
        self.seventh, self.play = seventh, play

    def push(self, move: chess.Move) -> None:
        self.boards.append(after(self.boards[-1], move))
        self.scores.append(score(self.boards[-1]))
        self.diagrams.append(diagram(self.boards[-1]))
        self.moves.append(move)

    def referee(self) -> tuple[GScore, int, Basis | None]:
        """Return the accrued score, the 50-move counter and the reason of the end."""
        play, start = self.play, self.boards[0]
        clock = start.halfmove_clock
        accrued = self.seventh if not play.variant.is_reset_by(clock == 0) else None
        for number, own in enumerate(self.scores):
            reset = False
            if number:
                before, move = self.boards[number - 1], self.moves[number - 1]
                reset = before.is_capture(move) or before.piece_type_at(move.from_square) == chess.PAWN
                clock = 0 if reset else clock + 1
            ignored = clock >= 100 and (
                play.rule == "cutermob-legacy" or (play.rule == "legacy" and own.g >= 1)
            )
            if ignored:
                if accrued is None:
                    accrued = own if play.rule == "legacy" else GScore.parse("G218.0")
            elif accrued is None or play.variant.is_reset_by(reset) or own.g < accrued.g:
                accrued = own
                if play.rule == "improving" and own.g < play.cutoff.g:
                    clock = 0
                if play.rule == "otb" and own.g <= 3.5:
                    clock = 0
        assert accrued is not None
        return accrued, clock, self.reason(clock)

    def reason(self, clock: int) -> Basis | None:
        board, play = self.boards[-1], self.play
        if ended(board) and not (play.rule == "cutermob-legacy" and clock >= 100):
            return Basis.MATE if board.is_check() else Basis.STALEMATE
        last_two = self.boards[-2:]
        if play.bare_kings and len(last_two) == 2 and all(map(free_kings, last_two)):
            return Basis.BARE_KINGS
        if clock >= 100 and play.rule != "none":
            return Basis.FIFTY_MOVES
        return Basis.REPETITION if self.diagrams.count(self.diagrams[-1]) >= 3 else None


def score(board: chess.Board) -> GScore:
    moves = len(list(board.legal_moves))
    return GScore.parse(f"{'-' if board.turn else ''}G{moves if board.is_check() else moves + 0.5}")


def ended(board: chess.Board) -> bool:
    return not any(board.legal_moves)


def free_kings(board: chess.Board) -> bool:
    return len(board.piece_map()) == 2 and board.legal_moves.count() == 8


def diagram(board: chess.Board) -> tuple[object, ...]:
    """Return the properties that are equal in a repetition."""
    capture = [move.to_square for move in board.legal_moves if board.is_en_passant(move)]
    rights = board.castling_shredder_fen()
    return board.piece_map(), board.turn, rights, capture[:1]


# Random games.


def random_start(rng: random.Random) -> chess.Board:
    """Return a position with few or many men, with castling rights as in chess or as in Chess960."""
    kind = rng.choice(["few", "few", "kings", "castling", "castling", "chess", "Chess960"])
    if kind == "chess":
        return chess.Board()
    if kind == "Chess960":
        return chess.Board.from_chess960_pos(rng.randrange(960))
    while True:
        board = chess.Board(None, chess960=True)
        if kind == "castling":
            for row, colour in ((0, chess.WHITE), (56, chess.BLACK)):
                files = rng.choice([[0, 4, 7], sorted(rng.sample(range(8), 3))])
                for file, man in zip(files, (4, 6, 4), strict=True):
                    board.set_piece_at(row + file, chess.Piece(man, colour))
                    if man == chess.ROOK and rng.random() < 0.6:
                        board.castling_rights |= 1 << row + file
        names = "" if kind == "castling" else "Kk"
        if kind != "kings":
            names += "".join(rng.choices("QqRrBbNnPPPppp", k=rng.randrange(1, 6)))
        for name in names:
            empty = [s for s in range(64) if not board.piece_at(s) and (name not in "Pp" or 8 <= s < 56)]
            board.set_piece_at(rng.choice(empty), chess.Piece.from_symbol(name))
        board.turn = rng.random() < 0.5
        if not board.was_into_check():
            return board


KINDS_OF_MOVES = ("any", "quiet", "reset", "double", "end", "back", "again", "pop")
HABITS = [
    *([kind] for kind in KINDS_OF_MOVES),
    ["end"] * 6,
    ["quiet", "quiet", "back", "back", *["again"] * 6],
    ["double", "quiet", "quiet", "back", "back", *["again"] * 7],
]


def chosen(game: Literal, kind: str, rng: random.Random) -> chess.Move | None:
    """Return a legal move, of a kind if possible."""
    board, past = game.boards[-1], game.moves
    moves = list(board.legal_moves)
    wanted = []
    if kind in ("quiet", "reset"):
        wanted = [move for move in moves if board.is_zeroing(move) == (kind == "reset")]
    elif kind == "double":
        wanted = [move for move in moves if board.piece_type_at(move.from_square) == chess.PAWN]
        wanted = [move for move in wanted if abs(move.from_square - move.to_square) == 16]
    elif kind == "end":
        wanted = [move for move in moves if ended(after(board, move))]
    elif kind == "back" and len(past) > 1:
        wanted = [
            m for m in moves if (m.from_square, m.to_square) == (past[-2].to_square, past[-2].from_square)
        ]
    elif kind == "again" and len(past) > 3:
        wanted = [move for move in moves if move == past[-4]]
    wanted = wanted or moves
    return rng.choice(wanted) if wanted else None


def after(board: chess.Board, move: chess.Move) -> chess.Board:
    board = board.copy()
    board.push(move)
    return board


@settings(max_examples=sample(40, 300))
@given(st.randoms(use_true_random=True))
def test_any_game(rng: random.Random) -> None:
    """At each ply the arbiter agrees with the literal referee; undone moves leave no trace."""
    start = random_start(rng)
    start.halfmove_clock = rng.choice([0, 0, 0, 1, 7, 95, 97, 98, 99, 99, 100, 101])
    rule = rng.choice([rule.value for rule in FiftyMoveRule])
    switch = rng.choice([None, True, False])
    bare_kings = rule in ("improving", "cutermob-legacy") if switch is None else switch
    play = Play(
        rule, GScore(rng.randrange(26), True), bare_kings, Variant("wg" if rng.random() < 0.3 else "r")
    )
    rank = rng.choice([rng.randrange(2, 26), max(score(start).rank, 2)])
    seventh = rng.choice([None, GScore(rank, True), GScore(rank, False)])
    fen = start.fen(shredder=rng.random() < 0.5)
    game = Literal(fen, seventh, play)
    arbiter = Arbiter(
        fen if seventh is None else f"{fen} {seventh}",
        fifty_move_rule=FiftyMoveRule(rule) if rng.random() < 0.5 else rule,
        cutoff=play.cutoff if rng.random() < 0.5 else str(play.cutoff),
        bare_kings=switch,
        rules=play.variant,
    )
    assert (arbiter.settings.bare_kings, arbiter.settings.variant) == (bare_kings, play.variant)
    agree(arbiter, game)
    past = [seen(arbiter)]
    for kind in itertools.chain.from_iterable(rng.choices(HABITS, k=rng.randrange(12))):
        move = chosen(game, kind, rng)
        if move is None:
            break
        make(arbiter, game.boards[-1], move, rng.randrange(3))
        if kind == "pop":
            arbiter.pop()
            assert seen(arbiter) == past[-1]
        else:
            game.push(move)
            agree(arbiter, game)
            past.append(seen(arbiter))
    moves = []
    for earlier in reversed(past[:-1]):
        moves.append(arbiter.pop())
        assert seen(arbiter) == earlier
    with pytest.raises(IndexError):
        arbiter.pop()
    assert seen(arbiter) == past[0]
    for move, later in zip(reversed(moves), past[1:], strict=True):
        arbiter.push(move)
        assert seen(arbiter) == later


def make(arbiter: Arbiter, board: chess.Board, move: chess.Move, way: int) -> None:
    """Make a move by one of three methods."""
    if way == 0:
        arbiter.push(move)
    elif way == 1:
        arbiter.push_uci(move.uci())
    else:
        arbiter.push_san(board.san(move))


def agree(arbiter: Arbiter, game: Literal) -> None:
    assert (arbiter.accrued, arbiter.clock, arbiter.basis) == game.referee()
    outcome = arbiter.outcome
    assert (outcome is None) == (arbiter.basis is None)
    assert outcome is None or (outcome.value, outcome.basis) == (arbiter.accrued, arbiter.basis)
    assert arbiter.position_score == score(game.boards[-1])
    assert arbiter.board.fen(shredder=True).split()[:4] == game.boards[-1].fen(shredder=True).split()[:4]


def test_position_scores_are_those_of_the_moves() -> None:
    """Random positions include castling rights and double steps."""
    rng = random.Random("own scores")
    kinds: Counter[str] = Counter()
    for fen in ILLEGAL_EN_PASSANT:
        check_score(chess.Board(fen), kinds)
    assert not kinds["en passant"]
    for _ in range(sample(1000, 2500)):
        board = chess.Board(None, chess960=True)
        home = rng.random() < 0.5
        for colour, row in ((chess.WHITE, 0), (chess.BLACK, 56)):
            squares = range(row, row + 8) if home else [s for s in range(64) if not board.piece_at(s)]
            for square, man in zip(sorted(rng.sample(squares, 3)), (4, 6, 4), strict=True):
                board.set_piece_at(square, chess.Piece(man, colour))
        for square in rng.sample(range(8, 56), rng.randrange(16)):
            if not board.piece_at(square):
                man = 1 if square // 8 in (1, 3, 4, 6) else rng.choice([2, 3, 4, 5])
                board.set_piece_at(square, chess.Piece(man, rng.random() < 0.5))
        board.turn = rng.random() < 0.5
        board.castling_rights = rng.getrandbits(64) & board.rooks & (chess.BB_RANK_1 | chess.BB_RANK_8)
        board.castling_rights = board.clean_castling_rights()
        if board.was_into_check():
            continue
        check_score(board, kinds)
        for move in board.generate_legal_moves(board.pawns & (chess.BB_RANK_2 | chess.BB_RANK_7)):
            board.push(move)
            if board.ep_square is not None:
                check_score(board, kinds)
            board.pop()
    assert min(kinds[kind] for kind in KINDS) > 4, kinds


def check_score(board: chess.Board, kinds: Counter[str]) -> None:
    assert position_score(board) == GScore.of_board(board) == score(board), board.fen(shredder=True)
    kinds.update(kinds_of(board))


ILLEGAL_EN_PASSANT = [
    "8/8/8/8/R1pPk3/8/8/K7 b - d3 0 1",  # both pawns leave the row of king and rook
    "8/8/4k3/8/2pP4/8/B7/K7 b - d3 0 1",  # the capturing one shields the king
    "8/8/8/5k2/2pP4/7B/8/K7 b - d3 0 1",  # a check by another man
]
KINDS = ("castling", "no castling yet", "check", "double check", "pin", "en passant", "promotion")


def kinds_of(board: chess.Board) -> Iterator[str]:
    """Return the kinds of difficulty in counting the moves of a position."""
    checkers = board.checkers_mask().bit_count()
    moves = list(board.legal_moves)
    found = (
        any(map(board.is_castling, moves)),
        board.castling_rights and not any(map(board.is_castling, moves)),
        checkers == 1,
        checkers == 2,
        any(board.is_pinned(board.turn, square) for square in chess.SquareSet(board.occupied_co[board.turn])),
        any(map(board.is_en_passant, moves)),
        any(move.promotion for move in moves),
    )
    yield from itertools.compress(KINDS, found)
