"""Looking up positions, lines and games; everything here blocks, and is called from threads."""

import io
from collections.abc import Iterator, Sequence
from itertools import islice, repeat
from typing import Any, Final, NamedTuple, TypeAlias

import chess

from tbgen.board.fen import parse_fen
from tbgen.board.history import FRESH
from tbgen.board.material import MAX_MEN
from tbgen.board.mobility import own_score
from tbgen.board.score import GScore
from tbgen.board.scoring import Scoring
from tbgen.board.variant import Variant
from tbgen.errors import MissingLayerError, MissingTableError, TbgenError, UsageError
from tbgen.games.outcome import Outcome
from tbgen.games.pgn.reader import Game, read_games
from tbgen.games.referee import Arbiter, GameOptions, adjudicate
from tbgen.index.position import validate
from tbgen.probe.states import ProbeResult
from tbgen.probe.tablebase import Tablebase
from tbgen.probe.views import View
from tbgen.web.documents import Category, accrued_document, line_document, position_document, view_document
from tbgen.web.errors import Refusal, refusal_of
from tbgen.web.settings import MOST_FEN_LETTERS, MOST_PLIES

_CASTLING: Final = (
    "no table holds positions with castling rights: write - for them if they do not matter, or have the "
    "position solved, by /r/solve where the server offers it, else by tbgen probe"
)


class Question(NamedTuple):
    """A position, and the score that has accrued before it; None for what is the position's own."""

    board: chess.Board
    accrued: GScore | None


def question_of(fen: str, accrued: str | None, variant: Variant) -> Question:
    """Return what a request asks about; an accrued score counts whatever the FEN says.

    :raises UsageError: if it means nothing.
    """
    if len(fen) > MOST_FEN_LETTERS:
        raise UsageError(f"the FEN has {len(fen)} letters: one has at most {MOST_FEN_LETTERS}")
    read = parse_fen(fen)
    return Question(read.board, GScore.parse(accrued) if accrued else read.accrued_in(variant))


def _looked_up(fen: str, accrued: str | None, variant: Variant) -> Question:
    """Return what a request wants to be looked up.

    :raises UsageError: if it means nothing.
    :raises Refusal: if there are castling rights, which take seconds and much memory, and no look-up.
    """
    asked = question_of(fen, accrued, variant)
    if asked.board.castling_rights:
        validate(asked.board)
        raise Refusal(404, "castling_rights", _CASTLING)
    return asked


def position(tables: Tablebase, fen: str, accrued: str | None) -> dict[str, Any]:
    """Return all about a position.

    :raises TbgenError: if tables do not say.
    """
    asked = _looked_up(fen, accrued, tables.rules)
    result = tables.probe(*asked)
    return position_document(asked.board, tables.rules, result, tables.moves(*asked))


def line(tables: Tablebase, fen: str, accrued: str | None) -> dict[str, Any]:
    """Return best play from a position.

    :raises TbgenError: if tables do not say.
    """
    asked = _looked_up(fen, accrued, tables.rules)
    result = tables.probe(*asked)
    return line_document(asked.board, tables.rules, result, tables.line(*asked))


def along(tables: Tablebase, fen: str) -> dict[str, Any]:
    """Return what a position is worth with each score that may have accrued there.

    :raises TbgenError: if tables do not say.
    """
    board, _ = _looked_up(fen, None, tables.rules)
    fresh = tables.probe(board, FRESH)
    found = []
    scores = _accrued_scores(board, fresh.position_score, tables.rules)
    for result in tables.probe_many([board] * len(scores), scores):
        if isinstance(result, TbgenError):
            raise result
        found.append(result)
    return accrued_document(board, tables.rules, found or [fresh])


def _accrued_scores(board: chess.Board, own: GScore, variant: Variant) -> list[GScore]:
    """Return the scores that may have accrued at a position, best for White first; none where it has only its
    own: the game is over, or has just been reset (docs/theory.md, sections 2 and 6)."""
    if own.rank < 2 or (variant.resets and board.has_legal_en_passant()):
        return []
    ranks = range(2, own.rank + 1)
    return [*(GScore(rank, True) for rank in ranks), *(GScore(rank, False) for rank in reversed(ranks))]


def seen(tables: Tablebase, view: View, fen: str) -> dict[str, Any]:
    """Return what a view says about a position.

    :raises TbgenError: if tables do not say.
    """
    board, _ = _looked_up(fen, None, tables.rules)
    through = tables.view(view)
    return view_document(board, own_score(board), through.probe(board), through.moves(board))


def batch(tables: Tablebase, fens: Sequence[str], with_moves: bool) -> dict[str, Any]:
    """Return all about many positions, or what is wrong with each."""
    asked = [_question_or_refusal(fen, tables.rules) for fen in fens]
    valid = [question for question in asked if isinstance(question, Question)]
    boards, scores = [question.board for question in valid], [question.accrued for question in valid]
    results = tables.probe_many(boards, scores)
    moves = tables.moves_many(boards, scores) if with_moves else repeat(None)
    found: list[dict[str, Any]] = []
    for fen, question in zip(fens, asked, strict=True):
        if isinstance(question, Refusal):
            found.append({"fen": fen, **question.document()})
            continue
        result, ranked = next(results), next(moves)
        if isinstance(result, TbgenError):
            found.append({"fen": fen, **refusal_of(result).document()})
        elif isinstance(ranked, TbgenError):
            found.append({"fen": fen, **refusal_of(ranked).document()})
        else:
            found.append(position_document(question.board, tables.rules, result, ranked))
    return {"rules": tables.rules, "positions": found}


def _question_or_refusal(fen: str, variant: Variant) -> Question | Refusal:
    try:
        return _looked_up(fen, None, variant)
    except TbgenError as error:
        return refusal_of(error)
    except Refusal as refusal:
        return refusal.with_traceback(None)


Said: TypeAlias = ProbeResult | MissingTableError | None
"""What tables say about a position; None where no table holds it."""


class _Ply(NamedTuple):
    """A position of a game."""

    move: chess.Move | None
    """The one that has led to it."""
    san: str | None
    board: chess.Board
    position_score: GScore
    accrued: GScore
    clock: int


def game(tables: Tablebase, pgn: bytes) -> dict[str, Any]:
    """Return what has accrued at every ply of a game, what that is worth where tables say, and the outcome.

    :raises Refusal: if the game is too long.
    :raises TbgenError: if it is no game, or more than one, or a table cannot be used.
    """
    played = _only_game(pgn)
    if len(played.moves) > MOST_PLIES:
        sentence = f"the game has {len(played.moves)} plies: one may have {MOST_PLIES}"
        raise Refusal(413, "too_large", sentence)
    settings = GameOptions(tables.rules).settings(played.tags)
    arbiter = Arbiter.of(played.start, settings)
    followed = list(_plies(arbiter, played.moves))
    results = said(tables, [Question(ply.board, ply.accrued) for ply in followed])
    documents = [
        _ply_document(number, ply, result if isinstance(result, ProbeResult) else None, settings.scoring)
        for number, (ply, result) in enumerate(zip(followed, results, strict=True))
    ]
    missing = {result.material for result in results if isinstance(result, MissingTableError)}
    reached = tables if _in_tables(arbiter.board) else None
    outcome = adjudicate(arbiter, reached, played.ending, recorded=played.result)
    return {
        "rules": tables.rules,
        "fifty_move_rule": settings.fifty_move_rule.value,
        "plies": documents,
        "outcome": _outcome_document(outcome),
        "missing_tables": sorted(missing),
    }


def _only_game(pgn: bytes) -> Game:
    """Return the one game of a PGN text.

    :raises UsageError: if there is another number of games, or the game is broken.
    """
    games = list(islice(read_games(io.BytesIO(pgn)), 2))
    if len(games) != 1:
        number = "more than one game" if games else "no game"
        raise UsageError(f"there is {number} in the PGN: give one")
    if games[0].error is not None:
        raise games[0].error
    return games[0]


def _plies(arbiter: Arbiter, moves: Sequence[chess.Move]) -> Iterator[_Ply]:
    """Yield the positions of a game while it is refereed, the first one too."""

    def now(move: chess.Move | None, san: str | None) -> _Ply:
        return _Ply(move, san, arbiter.board, arbiter.position_score, arbiter.accrued, arbiter.clock)

    yield now(None, None)
    for move in moves:
        san = arbiter.board.san(move)
        arbiter.push(move)
        yield now(move, san)


def _in_tables(board: chess.Board) -> bool:
    """Tell whether a table may have a position of a game."""
    return board.occupied.bit_count() <= MAX_MEN and not board.castling_rights


def said(tables: Tablebase, asked: Sequence[Question]) -> list[Said]:
    """Return what tables say about positions of a game.

    :raises TbgenError: if a table cannot be used.
    """
    inside = [question for question in asked if _in_tables(question.board)]
    results = tables.probe_many([one.board for one in inside], [one.accrued for one in inside])
    found: list[Said] = []
    for question in asked:
        result = next(results) if _in_tables(question.board) else None
        if isinstance(result, MissingLayerError):
            result = None
        if isinstance(result, TbgenError) and not isinstance(result, MissingTableError):
            raise result
        found.append(result)
    return found


def _ply_document(number: int, ply: _Ply, result: ProbeResult | None, scoring: Scoring) -> dict[str, Any]:
    value = None if result is None else result.value
    return {
        "ply": number,
        "uci": None if ply.move is None else ply.move.uci(),
        "san": ply.san,
        "fen": ply.board.fen(),
        "position_score": str(ply.position_score),
        "accrued": str(ply.accrued),
        "clock": ply.clock,
        "value": None if value is None else str(value),
        "depth": None if result is None else result.depth,
        "points": None if value is None else scoring.document(value),
        "category": None if value is None else Category.of(value, ply.board.turn),
    }


def _outcome_document(outcome: Outcome) -> dict[str, Any]:
    return {
        "value": str(outcome.value),
        "holder": outcome.value.holder,
        "basis": outcome.basis,
        "proven": outcome.proven,
        "depth": outcome.depth,
        "points": outcome.settings.scoring.document(outcome.value),
    }
