"""Looking up positions and lines. All functions block, and are called from worker threads."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import chain, repeat
from typing import Any, Final, NamedTuple, TypeVar

import chess
import msgspec

from tbgen.board.fen import AnyBoard, DescribedBoard, parse_position
from tbgen.board.material import Material
from tbgen.board.rules import FRESH, position_score
from tbgen.board.score import GScore
from tbgen.board.scoring import EXPONENTIAL
from tbgen.board.variant import Variant
from tbgen.errors import MissingTableError, TbgenError, UsageError, quote
from tbgen.index.position import validate
from tbgen.probe import probe_document
from tbgen.probe.moves import RankedMove
from tbgen.probe.states import ProbeResult
from tbgen.probe.views import View
from tbgen.tables.inventory import CountedTableDocument
from tbgen.web import payloads
from tbgen.web.admission import stop_if_client_left
from tbgen.web.configuration import MAX_BATCH_POSITIONS, MAX_FEN_LENGTH
from tbgen.web.payloads import AccruedText, FenText, MaterialText, SideText, ValueText
from tbgen.web.replies import Refusal, refusal_of
from tbgen.web.stock import Stock

Answer = TypeVar("Answer")
AnyPositionDocument = TypeVar("AnyPositionDocument", bound=probe_document.PositionDocument)

_CASTLING_SENTENCE: Final = (
    "no table holds positions with castling rights: write - for them in the FEN if they do not matter; "
    "with up to five men, tbgen probe and tbgen.probe in Python solve the position"
)


class Question(NamedTuple):
    """A position with an accrued score, about which a client asks."""

    board: AnyBoard
    accrued: GScore | None
    """The accrued score; None for the position score."""
    variant: Variant
    note: str | None = None
    """A remark about a part of the FEN that is ignored; None if there is none."""

    @property
    def state(self) -> tuple[AnyBoard, GScore | None]:
        """The position and the accrued score."""
        return self.board, self.accrued


def question_of(fen: str, accrued: str | None, variant: Variant) -> Question:
    """Return the question of a request; ``accrued`` overrides the accrued score of the FEN.

    :raises UsageError: if the FEN or the score is malformed. The position may be illegal.
    """
    if len(fen) > MAX_FEN_LENGTH:
        raise UsageError(f"the FEN has {len(fen)} characters: the limit is {MAX_FEN_LENGTH}")
    parsed = parse_position(fen)
    if accrued:
        return Question(parsed.board, GScore.parse(accrued), variant)
    return Question(parsed.board, parsed.accrued_in(variant), variant, parsed.note(variant))


def _question_for_tables(fen: str, accrued: str | None, variant: Variant) -> Question:
    """Return the question of a request that tables may answer.

    :raises UsageError: if the FEN or the score is invalid.
    :raises Refusal: if the position has castling rights, because solving it would take seconds and much
        memory.
    """
    question = question_of(fen, accrued, variant)
    if question.board.castling_rights:
        validate(question.board)
        raise Refusal(404, "castling_rights", _CASTLING_SENTENCE)
    return question


def position(stock: Stock, fen: FenText, accrued: AccruedText | None) -> payloads.PositionMovesDocument:
    """Return the values of a position and its moves.

    :raises TbgenError: if the tables lack the answer.
    """
    question = _question_for_tables(fen, accrued, stock.variant)
    result = stock.tables.probe(*question.state)
    moves = stock.tables.moves(*question.state)
    return _answer(payloads.PositionMovesDocument, question, result, moves=_move_list(question, moves))


def refusal(stock: Stock, fen: str, accrued: str | None) -> probe_document.RefusalDocument | None:
    """Return why tables do not determine the value of a position; None if they determine it."""
    answer = _result_or_refusal(
        lambda: stock.tables.probe(*_question_for_tables(fen, accrued, stock.variant).state)
    )
    return answer.document if isinstance(answer, Refusal) else None


def line(stock: Stock, fen: FenText, accrued: AccruedText | None) -> payloads.MainlineDocument:
    """Return best play from a position.

    :raises TbgenError: if the tables lack the answer.
    """
    question = _question_for_tables(fen, accrued, stock.variant)
    result = stock.tables.probe(*question.state)
    mainline = list(map(probe_document.PlyDocument.of, stock.tables.line(*question.state)))
    return _answer(payloads.MainlineDocument, question, result, mainline=mainline)


def accrued_scores(stock: Stock, fen: FenText) -> payloads.AccruedScoresDocument:
    """Return the value of a position for each accrued score that is possible there.

    :raises TbgenError: if the tables lack the answer.
    """
    board = _question_for_tables(fen, None, stock.variant).board
    fresh = stock.tables.probe(board, FRESH)
    scores = _possible_scores(board, fresh.position_score, stock.variant)
    results = list(map(require_answer, stock.tables.probe_many([board] * len(scores), scores)))
    return payloads.AccruedScoresDocument(
        fen=board.fen(),
        material=fresh.material,
        rules=stock.variant,
        position_score=fresh.position_score,
        accrued_scores=[
            payloads.AccruedScoreDocument.of(result, points=_points(result.value))
            for result in results or [fresh]
        ],
    )


def _possible_scores(board: AnyBoard, position_score: GScore, variant: Variant) -> list[GScore]:
    """Return the accrued scores that are possible in a position, best for White first.

    The list is empty if only the position score is possible: the game is over, or the accrued score has just
    been reset (docs/theory.md, sections 2 and 6).
    """
    if position_score.rank < 2 or variant.is_reset_by(board.has_legal_en_passant()):
        return []
    ranks = range(2, position_score.rank + 1)
    return [*(GScore(rank, True) for rank in ranks), *(GScore(rank, False) for rank in reversed(ranks))]


def view_position(view: View, stock: Stock, fen: FenText) -> probe_document.ViewDocument:
    """Return the values of a position and its moves in a view.

    :raises TbgenError: if the tables lack the answer.
    """
    board = _question_for_tables(fen, None, stock.variant).board
    view_tables = stock.tables.view(view)
    result = view_tables.probe(board)
    score = board.position_score() if isinstance(board, DescribedBoard) else position_score(board)
    return probe_document.ViewDocument.of(
        result,
        fen=board.fen(),
        checkmate=score.is_mate,
        stalemate=score.is_stalemate,
        insufficient_material=board.is_insufficient_material(),
        points=probe_document.PointsDocument.of(result.points),
        category=probe_document.ViewCategory.of(result.points, board.turn),
        moves=[
            probe_document.ViewMoveDocument.of(
                move,
                zeroing=move.zeroing,
                checkmate=move.position_score.is_mate,
                stalemate=move.position_score.is_stalemate,
                points=probe_document.PointsDocument.of(move.points),
                category=probe_document.ViewCategory.of(move.points, not board.turn),
            )
            for move in view_tables.moves(board)
        ],
    )


def sample(
    stock: Stock, material: MaterialText | None, value: ValueText | None, side: SideText | None
) -> payloads.PositionMovesDocument:
    """Return a random position of a table.

    :raises Refusal: if no such position is found, or the side is invalid.
    :raises TbgenError: if a table is missing, or cannot be used.
    """
    if side and side not in chess.COLOR_NAMES:
        raise Refusal(400, "bad_input", f"{quote(side)} is not a side: expected white or black")
    boards = stock.samples(
        Material.parse(material) if material else None,
        GScore.parse(value) if value else None,
        side == "white" if side else None,
    )
    board = next(boards)
    # If every position has a move into a missing table, the last call raises the error about the first one.
    return first_answer(stock, chain([board], boards)) or position(stock, board.fen(), None)


def first_answer(stock: Stock, boards: Iterable[AnyBoard]) -> payloads.PositionMovesDocument | None:
    """Return the answer about the first position that has no move into a missing table.

    The result is None if there is no such position.
    """
    for board in boards:
        stop_if_client_left()
        with suppress(MissingTableError):  # a capture can lead to a missing table
            return position(stock, board.fen(), None)
    return None


def statistics(stock: Stock, material: MaterialText) -> CountedTableDocument:
    """Return the counts of a table.

    :raises TbgenError: if the table is missing, or cannot be used.
    """
    document = stock.usable_entry(Material.parse(material), with_counts=True).document()
    assert isinstance(document, CountedTableDocument)
    return document


def tables(*stocks: Stock) -> payloads.TablesDocument:
    """Return the usable tables of the server."""
    entries = [entry for stock in stocks for entry in stock.entries()]
    return payloads.TablesDocument([entry.document() for entry in entries if entry.info is not None])


def batch(stock: Stock, body: bytes) -> payloads.BatchDocument:
    """Return, for each position of a batch, the answer or the reason why there is none.

    :raises Refusal: if the body is not a batch, or has too many positions.
    """
    request = _batch_request(body)
    questions = [_result_or_refusal(_question_for_tables, fen, None, stock.variant) for fen in request.fens]
    valid_questions = [question for question in questions if isinstance(question, Question)]
    boards = [question.board for question in valid_questions]
    scores = [question.accrued for question in valid_questions]
    moves = stock.tables.moves_many(boards, scores) if request.moves else repeat(None)
    answer_parts = zip(valid_questions, stock.tables.probe_many(boards, scores), moves, strict=False)
    answers = (_result_or_refusal(_batch_answer, *parts) for parts in answer_parts)
    entries = [question if isinstance(question, Refusal) else next(answers) for question in questions]
    return payloads.BatchDocument(
        stock.variant,
        [
            payloads.BatchRefusalDocument(fen, entry.code, entry.detail)
            if isinstance(entry, Refusal)
            else entry
            for fen, entry in zip(request.fens, entries, strict=True)
        ],
    )


def _batch_answer(
    question: Question, result: ProbeResult | TbgenError, moves: Iterable[RankedMove] | TbgenError | None
) -> probe_document.PositionDocument:
    """Return the answer about one position, without moves if ``moves`` is None."""
    probe_result = require_answer(result)
    if moves is None:
        return _answer(probe_document.PositionDocument, question, probe_result)
    move_list = _move_list(question, require_answer(moves))
    return _answer(payloads.PositionMovesDocument, question, probe_result, moves=move_list)


def _result_or_refusal(find: Callable[..., Answer], *arguments: object) -> Answer | Refusal:
    """Return the result of a function, or the refusal for the exception that it raises."""
    try:
        return find(*arguments)
    except (TbgenError, Refusal) as error:
        return refusal_of(error)


def require_answer(answer: Answer | TbgenError) -> Answer:
    """Return ``answer``, unless it is an error.

    :param answer: an entry of a list of answers and errors.
    :raises TbgenError: if the entry is an error.
    """
    if isinstance(answer, TbgenError):
        raise answer
    return answer


def _batch_request(body: bytes) -> payloads.BatchRequest:
    """Return the batch in the body of a request.

    :raises Refusal: if the body is not a batch, or has too many positions.
    """
    try:
        request = msgspec.json.decode(body, type=payloads.BatchRequest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        expected = 'JSON such as {"fens": [...], "moves": true}, where moves may be left out'
        sentence = f"the body is invalid: expected {expected}"
        raise Refusal(400, "bad_input", sentence) from None
    if len(request.fens) > MAX_BATCH_POSITIONS:
        sentence = f"there are {len(request.fens)} positions: send at most {MAX_BATCH_POSITIONS} at once"
        raise Refusal(413, "too_large", sentence)
    return request


def _answer(
    document_type: type[AnyPositionDocument], question: Question, result: ProbeResult, **others: Any
) -> AnyPositionDocument:
    """Return the document about a position; ``others`` are the fields that only this type has."""
    board = question.board
    return document_type.of(
        result,
        fen=board.fen(),
        rules=question.variant,
        holder=result.value.holder,
        points=_points(result.value),
        checkmate=result.position_score.is_mate,
        stalemate=result.position_score.is_stalemate,
        insufficient_material=board.is_insufficient_material(),
        category=probe_document.Category.of(result.value, board.turn),
        note=question.note,
        **others,
    )


def _move_list(question: Question, moves: Iterable[RankedMove]) -> list[probe_document.MoveDocument]:
    return [
        probe_document.MoveDocument.of(
            move,
            checkmate=move.position_score.is_mate,
            stalemate=move.position_score.is_stalemate,
            accrued=move.accrued,
            points=_points(move.value),
            category=probe_document.Category.of(move.value, not question.board.turn),
        )
        for move in moves
    ]


def _points(value: GScore) -> probe_document.PointsDocument:
    return probe_document.points_document(EXPONENTIAL, value)
