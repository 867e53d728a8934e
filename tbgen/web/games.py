"""Refereed games and their positions: one game with variations ply by ply, or many games. All calls block.

Most positions of a game have more men than tables hold. Such a position has no value; that is not an error.
"""

import io
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import chess

from tbgen.board.material import MAX_MEN
from tbgen.board.san import sans_without_check_signs
from tbgen.board.score import GScore, to_signed
from tbgen.board.scoring import EXPONENTIAL, Scoring
from tbgen.errors import MissingLayerError, MissingTableError, TbgenError, UsageError
from tbgen.games.game_options import FiftyMoveRule
from tbgen.games.pgn.reader import Game, VariationMove, Variations, read_game, read_variations
from tbgen.games.pgn.splitter import RawGame, split_games
from tbgen.games.referee import Arbiter, GameOptions, adjudicate_game, replay
from tbgen.probe.moves import preference
from tbgen.probe.probe_document import Category, points_document
from tbgen.probe.states import ProbeResult, read_chess_position
from tbgen.probe.tablebase import Tablebase
from tbgen.web.configuration import MAX_GAMES, MAX_PLIES, MAX_TOTAL_PLIES
from tbgen.web.lookups import question_of, refusal, require_answer
from tbgen.web.payloads import (
    AccruedText,
    FenText,
    GameDocument,
    GamePlyDocument,
    GamesDocument,
    LegalMoveDocument,
    LegalMovesDocument,
    ListedGameDocument,
    OutcomeDocument,
    StateDocument,
    VariationPlyDocument,
)
from tbgen.web.replies import Refusal
from tbgen.web.stock import Stock

AnyState = TypeVar("AnyState", bound=StateDocument)
AnyPly = TypeVar("AnyPly", bound=GamePlyDocument)


class GameState(NamedTuple):
    """A position of a game, the move that led to it, and its value if tables have the position."""

    uci: str
    """The move in UCI notation; empty for the first position."""
    san: str
    """The move in SAN; empty for the first position."""
    zeroing: bool
    board: chess.Board
    position_score: GScore
    accrued: GScore
    clock: int
    """The halfmove clock."""
    value: GScore | None = None
    depth: int | None = None
    missing_table: str | None = None
    """The material of a missing table that is needed for the value; None if no table is missing."""

    @classmethod
    def of(cls, arbiter: Arbiter, uci: str = "", san: str = "", zeroing: bool = False) -> "GameState":
        """Return the current state of a game; ``uci``, ``san`` and ``zeroing`` describe the last move."""
        current = arbiter.board, arbiter.position_score, arbiter.accrued, arbiter.clock
        return cls(uci, san, zeroing, *current)

    def with_result(self, result: ProbeResult | TbgenError) -> "GameState":
        """Return the state with the value and depth that a probe found, or with the material of a missing
        table.

        :raises TbgenError: if a table cannot be used.
        """
        match result:
            case MissingLayerError():
                return self
            case MissingTableError():
                return self._replace(missing_table=result.material)
        probed = require_answer(result)
        return self._replace(value=probed.value, depth=probed.depth)

    def document(
        self, document_type: type[AnyState], scoring: Scoring = EXPONENTIAL, **others: Any
    ) -> AnyState:
        """Return the document of the state; ``others`` are the fields that the state does not determine."""
        value = self.value
        return document_type.of(
            self,
            fen=self.board.fen(),
            **others,
            points=value and points_document(scoring, value),
            category=value and Category.of(value, self.board.turn),
        )

    @property
    def checkmate(self) -> bool:
        """Whether the position is mate."""
        return self.position_score.is_mate

    @property
    def stalemate(self) -> bool:
        """Whether the position is stalemate."""
        return self.position_score.is_stalemate


def fits_tables(board: chess.Board) -> bool:
    """Return whether a position has few enough men, and no castling rights, so that a table can hold it."""
    return board.occupied.bit_count() <= MAX_MEN and not board.castling_rights


def with_values(tables: Tablebase, states: Sequence[GameState]) -> list[GameState]:
    """Return states of games, with their values if tables have the positions.

    :raises TbgenError: if a table cannot be used.
    """
    probed = [state for state in states if fits_tables(state.board)]
    results = tables.probe_many([state.board for state in probed], [state.accrued for state in probed])
    return [state.with_result(next(results)) if fits_tables(state.board) else state for state in states]


def legal_moves(stock: Stock, fen: FenText, accrued: AccruedText | None) -> LegalMovesDocument:
    """Return a position with any number of men, and all its legal moves, each with its value if available.

    :raises UsageError: if the position is invalid, or has described men.
    :raises TbgenError: if a table cannot be used.
    """
    query = question_of(fen, accrued, stock.variant)
    board, _ = read_chess_position(query.board, None, stock.variant)
    arbiter = Arbiter(board, accrued=query.accrued, rules=stock.variant, fifty_move_rule=FiftyMoveRule.NONE)
    current, *after = [
        state._replace(value=state.position_score, depth=0) if state.position_score.rank < 2 else state
        for state in with_values(stock.tables, [GameState.of(arbiter), *_successors(arbiter)])
    ]

    def sort_key(state: GameState) -> tuple[Any, ...]:
        """Return a key that puts the best move first, and moves without a value last."""
        if state.value is None:
            return True, state.uci
        value, accrued = to_signed(state.value), to_signed(current.accrued)
        return False, *preference(board.turn, accrued, value, state.depth, state.uci)

    return (_with_best_value(current, after) if current.value is None else current).document(
        LegalMovesDocument,
        rules=stock.variant,
        insufficient_material=current.board.is_insufficient_material(),
        refusal=refusal(stock, fen, accrued),
        moves=[state.document(LegalMoveDocument) for state in sorted(after, key=sort_key)],
    )


def _successors(arbiter: Arbiter) -> Iterator[GameState]:
    """Yield the state that each legal move leads to."""
    board = arbiter.board
    moves = list(board.legal_moves)
    for move, name in zip(moves, sans_without_check_signs(board, moves), strict=True):
        arbiter.push(move)
        score = arbiter.position_score
        mark = "#" if score.rank == 0 else "" if score.rank % 2 else "+"
        yield GameState.of(arbiter, move.uci(), name + mark, board.is_zeroing(move))
        arbiter.pop()


def _with_best_value(state: GameState, successors: Sequence[GameState]) -> GameState:
    """Return a state with the value of its best move, if the values of all moves are available.

    If the value is better for the mover than the accrued score, the mover reaches it as soon as possible. If
    the value is worse, the mover reaches it as late as possible.

    :param successors: the states that the moves lead to.
    """
    values = [successor.value for successor in successors if successor.value is not None]
    if not successors or len(values) < len(successors):
        return state
    best = max(values) if state.board.turn else min(values)
    if best == state.accrued:
        return state._replace(value=best, depth=0)
    depths = [successor.depth for successor in successors if successor.value == best]
    plies = [depth for depth in depths if depth is not None]
    if len(plies) < len(depths):
        return state._replace(value=best)
    wants_value_soon = (best > state.accrued) == state.board.turn
    return state._replace(value=best, depth=1 + (min(plies) if wants_value_soon else max(plies)))


def game(stock: Stock, body: bytes) -> GameDocument:
    """Return the outcome of the game in a PGN text, and the states of the game and of its variations.

    States have their values if tables have the positions.

    :raises Refusal: if the game is too long.
    :raises TbgenError: if the text does not contain exactly one valid game, or a table cannot be used.
    """
    pgn_game, (side_moves, cut_count, comments, nags) = _game_with_variations(body)
    settings = GameOptions(stock.variant).settings(pgn_game.tags)
    arbiter = Arbiter.of(pgn_game.start, settings)
    main = [VariationMove(position_number, move) for position_number, move in enumerate(pgn_game.moves)]
    states = with_values(stock.tables, _states(arbiter, [*main, *side_moves]))
    outcome = _outcome(stock, arbiter, pgn_game)
    plies = [0]
    for preceding, _ in (*main, *side_moves):
        plies.append(plies[preceding] + 1)

    def ply_document(document_type: type[AnyPly], position_number: int, **others: int) -> AnyPly:
        state = states[position_number]
        return state.document(
            document_type,
            settings.scoring,
            ply=plies[position_number],
            uci=state.uci or None,
            san=state.san or None,
            comment=comments.get(position_number, ""),
            nags=nags.get(position_number, []),
            **others,
        )

    return GameDocument(
        rules=stock.variant,
        fifty_move_rule=settings.fifty_move_rule,
        plies=[ply_document(GamePlyDocument, position_number) for position_number in range(len(main) + 1)],
        variations=[
            ply_document(VariationPlyDocument, position_number, after=after)
            for position_number, (after, _) in enumerate(side_moves, len(main) + 1)
        ],
        cut_variations=cut_count,
        outcome=outcome,
        missing_tables=sorted({state.missing_table for state in states if state.missing_table}),
    )


def single_game(pgn: bytes) -> Game:
    """Return the game of a PGN text that has exactly one game.

    :raises Refusal: if the game is too long.
    :raises UsageError: if the text does not have exactly one game, or the game is broken.
    """
    return _game_with_variations(pgn)[0]


def _game_with_variations(pgn: bytes) -> tuple[Game, Variations]:
    raw_games = list(islice(_raw_games(pgn), 2))
    if len(raw_games) != 1:
        count_text = "more than one game" if raw_games else "no game"
        raise UsageError(f"the PGN has {count_text}: give one")
    read = read_game(raw_games[0])
    if read.error is not None:
        raise UsageError(
            read.error.message_without_place
        )  # no line number, because the text need not come from a file
    variations = read_variations(raw_games[0], read)
    if (plies := len(read.moves) + len(variations.moves)) > MAX_PLIES:
        suffix = " with its variations" if variations.moves else ""
        raise Refusal(413, "too_large", f"the game has {plies} plies{suffix}: the limit is {MAX_PLIES}")
    return read, variations


def _raw_games(pgn: bytes) -> Iterator[RawGame]:
    return (raw for raw in split_games(io.BytesIO(pgn)) if not raw.empty)


def _states(arbiter: Arbiter, moves: Sequence[VariationMove]) -> list[GameState]:
    """Return the states of a game and its variations in the order of their numbers.

    Afterwards the arbiter is at the end of the main line.

    :param moves: all moves, the main line first.
    """
    next_moves = defaultdict[int, list[tuple[int, chess.Move | None]]](list)
    for position_number, (after, next_move) in enumerate(moves, 1):
        next_moves[after].append((position_number, next_move))
    states = {0: GameState.of(arbiter)}
    stack = [*next_moves[0]]  # an entry without a move takes back the last move
    while len(states) <= len(moves):
        position_number, move = stack.pop()
        if move is None:
            arbiter.pop()
            continue
        san = arbiter.board.san(move)
        arbiter.push(move)
        states[position_number] = GameState.of(arbiter, move.uci(), san)
        stack += [(position_number, None), *next_moves[position_number]]
    return [states[position_number] for position_number in range(len(moves) + 1)]


def _outcome(stock: Stock, arbiter: Arbiter, pgn_game: Game) -> OutcomeDocument:
    """Return the outcome of a game whose moves the arbiter has already made."""
    outcome = adjudicate_game(pgn_game, arbiter, stock.tables if fits_tables(arbiter.board) else None)
    return OutcomeDocument.of(
        outcome,
        holder=outcome.value.holder,
        points=points_document(outcome.settings.scoring, outcome.value),
        doubts=list(outcome.doubts),
    )


def games(stock: Stock, body: bytes) -> GamesDocument:
    """Return the games of a PGN text with their outcomes; a broken game has an error instead of an outcome.

    :raises Refusal: if the text has too many games or plies.
    :raises UsageError: if the text has no game.
    :raises TbgenError: if a table cannot be used.
    """
    raw_games = list(islice(_raw_games(body), MAX_GAMES + 1))
    if not raw_games:
        raise UsageError("the PGN has no game: give one")
    if len(raw_games) > MAX_GAMES:
        raise Refusal(413, "too_large", f"the PGN has more than {MAX_GAMES} games: send it in parts")
    listed_games = list[ListedGameDocument]()
    ply_count = 0
    for raw in raw_games:
        pgn_game = read_game(raw)
        ply_count += len(pgn_game.moves)
        if ply_count > MAX_TOTAL_PLIES:
            sentence = f"the games have more than {MAX_TOTAL_PLIES} plies: send them in parts"
            raise Refusal(413, "too_large", sentence)
        listed_games.append(_listed_game(stock, raw, pgn_game))
    return GamesDocument(rules=stock.variant, games=listed_games)


def _listed_game(stock: Stock, raw: RawGame, pgn_game: Game) -> ListedGameDocument:
    """Return a game's entry in the list."""
    outcome = error = None
    try:
        outcome = _outcome(stock, replay(pgn_game, GameOptions(stock.variant)), pgn_game)
    except UsageError as wrong:
        error = str(wrong)
    return ListedGameDocument(
        number=pgn_game.number,
        tags=pgn_game.tags,
        comment=pgn_game.comment,
        result=pgn_game.result,
        plies=len(pgn_game.moves),
        outcome=outcome,
        error=error,
        pgn=raw.data.decode("utf-8", "replace"),
    )
