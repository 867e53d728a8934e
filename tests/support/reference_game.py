"""The explicit game on states (position, accrued score), solved with python-chess and dictionaries.

Scores and values are codes as in the tables: White's score of rank R is R, Black's is 255 - R, so a smaller
code is better for White. A move may be an *exit*, whose worth comes from a callback: captures and pawn moves
are, as each starts a new game; which others are is the caller's choice. Nothing is reduced or skipped.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import chess

Fresh = tuple[int, int]  # value code, depth in plies
Key = str  # tells positions apart
Exit = Callable[[int], Fresh]  # what a move that leaves is worth with this accrued score before it
Move = tuple[Key, Exit | None]  # key of the position reached, None if the move stays in the game
# Of the board before the move, the move, and the board after it.
ExitOf = Callable[[chess.Board, chess.Move, chess.Board], Exit | None]


def rank_of(code: int) -> int:
    """Rank of the score with this code."""
    return min(code, 255 - code)


def score_of(board: chess.Board) -> int:
    """Code of the position score, which the side that has just moved holds."""
    rank = 2 * board.legal_moves.count() + (0 if board.is_check() else 1)
    assert rank < 128, f"{board.fen()} has more legal moves than codes can tell apart"
    return 255 - rank if board.turn == chess.WHITE else rank


def folded(accrued: int, own: int) -> int:
    """Accrued score after a quiet move to a position with this score: a strictly smaller rank replaces it."""
    return own if rank_of(own) < rank_of(accrued) else accrued


def key_of(board: chess.Board) -> Key:
    """Men, side to move, and the en passant right if a legal capture uses it."""
    men = (board.pawns, board.knights, board.bishops, board.rooks, board.queens, board.kings)
    right = board.ep_square if board.has_legal_en_passant() else None
    return repr((board.turn, board.occupied_co[chess.WHITE], men, right))


@dataclass
class Position:
    """A node of the move graph."""

    board: chess.Board
    score: int
    right: bool  # a legal en passant capture exists
    moves: list[Move]

    @property
    def white(self) -> bool:
        return self.board.turn == chess.WHITE

    @property
    def rank(self) -> int:
        return rank_of(self.score)


@dataclass
class Game:
    """A solved game: all states of the positions that quiet moves reach from the boards given.

    `values` maps (position, accrued code) to (value code, depth in plies). Positions with an en passant
    right are the first of their phase; each has one state, whose accrued score is the position score.
    """

    positions: dict[Key, Position]
    values: dict[tuple[Key, int], Fresh] = field(default_factory=dict)

    def state(self, board: chess.Board, accrued: int) -> Fresh:
        """Value and depth with an accrued score of rank 2 or more; the position score is folded into it."""
        return self.reached(key_of(board), accrued)

    def fresh(self, board: chess.Board) -> Fresh:
        """Value and depth when counting starts at this position."""
        key = key_of(board)
        return self.values[key, self.positions[key].score]

    def reached(self, key: Key, accrued: int) -> Fresh:
        """Value and depth after a quiet move to a position, whose score is folded into ``accrued``."""
        position = self.positions[key]
        return self.values[key, position.score if position.right else folded(accrued, position.score)]

    def choices(self, key: Key, accrued: int) -> list[Fresh]:
        """Return the state after each legal move of a state."""
        moves = self.positions[key].moves
        return [leave(accrued) if leave else self.reached(to, accrued) for to, leave in moves]


def resets(fresh_of: Callable[[chess.Board], Fresh]) -> ExitOf:
    """Captures and pawn moves are exits, worth the fresh value of the board after them; nothing else is."""

    def exit_of(board: chess.Board, move: chess.Move, child: chess.Board) -> Exit | None:
        if not board.is_zeroing(move):
            return None
        worth = fresh_of(child)
        return lambda accrued: worth

    return exit_of


def explore(boards: Iterable[chess.Board], exit_of: ExitOf) -> dict[Key, Position]:
    """All positions that moves which are no exits reach, with their moves."""
    positions: dict[Key, Position] = {}
    waiting = [board.copy(stack=False) for board in boards]
    while waiting:
        board = waiting.pop()
        key = key_of(board)
        if key in positions:
            continue
        moves: list[Move] = []
        positions[key] = Position(board, score_of(board), board.has_legal_en_passant(), moves)
        for move in board.legal_moves:
            child = board.copy(stack=False)
            child.push(move)
            leave = exit_of(board, move, child)
            moves.append((key_of(child), leave))
            if leave is None:
                waiting.append(child)
    return positions


def solve_game(boards: Iterable[chess.Board], fresh_of: Callable[[chess.Board], Fresh]) -> Game:
    """Solve every state of every position that quiet moves reach from the boards.

    `fresh_of(board)` gives value code and depth of the position after a capture or a pawn move.
    """
    return solve_positions(explore(boards, resets(fresh_of)))


def solve_positions(positions: dict[Key, Position]) -> Game:
    """Solve every state of the positions, among which all moves lead that are no exits."""
    game = Game(positions)
    for key, position in positions.items():
        if position.rank < 2:
            game.values[key, position.score] = position.score, 0
    top = max((position.rank for position in positions.values()), default=0)
    for rank in range(2, top + 1):
        for accrued in (rank, 255 - rank):
            _solve_layer(game, accrued)
    return game


LayerMove = tuple[Key, Fresh | None]  # key of the position reached, its worth if that is outside of the layer


def _solve_layer(game: Game, accrued: int) -> None:
    """Solve all states with one accrued score; those of smaller rank are solved."""
    rank = rank_of(accrued)
    inside = {
        key: position
        for key, position in game.positions.items()
        if position.rank >= rank and (not position.right or position.score == accrued)
    }
    # A move that leaves the layer gets its worth, one that stays has none.
    moves: dict[Key, list[LayerMove]] = {}
    origins: dict[Key, list[Key]] = {key: [] for key in inside}
    for key, position in inside.items():
        moves[key] = []
        for to, leave in position.moves:
            worth = None
            if leave is not None:
                worth = leave(accrued)
            elif to in inside:
                origins[to].append(key)
            else:
                worth = game.reached(to, accrued)
            moves[key].append((to, worth))
    solved: dict[Key, Fresh] = {}
    for favoured in (chess.WHITE, chess.BLACK):
        solved.update(_attract(inside, moves, origins, accrued, favoured))
    for key in inside:
        game.values[key, accrued] = solved.get(key, (accrued, 0))


def _attract(
    inside: dict[Key, Position],
    moves: dict[Key, list[LayerMove]],
    origins: dict[Key, list[Key]],
    accrued: int,
    favoured: chess.Color,
) -> dict[Key, Fresh]:
    """States where one side forces more than the accrued score; it hurries and the other delays.

    Values are taken best first and depths in order, so a state is solved when its mover's choice is clear.
    """

    def order(code: int) -> int:
        return code if favoured else 255 - code

    exits: dict[int, dict[int, set[Key]]] = {}
    for key in inside:
        for _, worth in moves[key]:
            if worth is not None and order(worth[0]) < order(accrued):
                exits.setdefault(worth[0], {}).setdefault(worth[1], set()).add(key)
    solved: dict[Key, Fresh] = {}
    for value in sorted(exits, key=order):
        depth, new = 0, set[Key]()
        while new or depth <= max(exits[value]):
            # Only the neighbours of what has just become known can follow.
            asked = {key for child in new for key in origins[child]} | exits[value].get(depth, set())
            new = set()
            for key in asked - solved.keys():
                known = [worth or solved.get(to) for to, worth in moves[key]]
                if inside[key].white == favoured:
                    clear = any(choice == (value, depth) for choice in known)
                else:
                    clear = all(
                        choice is not None
                        and (order(choice[0]) < order(value) or (choice[0] == value and choice[1] <= depth))
                        for choice in known
                    )
                if clear:
                    new.add(key)
            depth += 1
            solved |= dict.fromkeys(new, (value, depth))
    return solved


def certify_state(game: Game, key: Key, accrued: int) -> None:
    """Check the conditions that prove values and depths at one state; they must hold at every state.

    :raises AssertionError: naming the condition that fails.
    """
    position, (value, depth) = game.positions[key], game.values[key, accrued]
    where = f"{position.board.epd()} with {accrued}: {value} in {depth}"
    if not position.moves:
        assert (value, depth) == (position.score, 0), f"(a) {where}"
        return
    choices = game.choices(key, accrued)
    best = min(choices)[0] if position.white else max(choices)[0]
    assert value == best, f"(b) {where}, best move {best}"
    assert (depth == 0) == (value == accrued), f"(c) {where}"
    if value != accrued:
        kept = [choice[1] for choice in choices if choice[0] == value]
        hurries = position.white == (value < accrued)
        assert depth == 1 + (min(kept) if hurries else max(kept)), f"(d) {where}"


def certify_game(game: Game) -> int:
    """Check every state; returns their number."""
    for key, accrued in game.values:
        certify_state(game, key, accrued)
    return len(game.values)


def king_placements(board: chess.Board) -> Iterator[chess.Board]:
    """The same other men, side to move and en passant right with the kings on all legal squares."""
    pieces = {square: man for square, man in board.piece_map().items() if man.piece_type != chess.KING}
    blocked = set(pieces)
    if board.ep_square is not None:
        blocked |= {board.ep_square, board.ep_square + (8 if board.turn else -8)}
    for white in chess.SQUARES:
        for black in chess.SQUARES:
            if white in blocked or black in blocked or chess.square_distance(white, black) < 2:
                continue
            other = chess.Board(None)
            other.set_piece_map(pieces)
            other.set_piece_at(white, chess.Piece(chess.KING, chess.WHITE))
            other.set_piece_at(black, chess.Piece(chess.KING, chess.BLACK))
            other.turn, other.ep_square = board.turn, board.ep_square
            if not other.was_into_check() and (board.ep_square is None or other.has_legal_en_passant()):
                yield other


def placements(fen: str) -> Iterator[chess.Board]:
    """All positions with the pawns of a FEN where they stand, both sides to move, its right included."""
    yield from king_placements(chess.Board(fen))
    for turn in chess.COLORS:
        plain = chess.Board(fen)
        plain.turn, plain.ep_square = turn, None
        yield from king_placements(plain)
