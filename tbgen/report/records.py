"""Records: for each value the position with the greatest depth, and best play from it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Final

import chess
import chess.pgn
import numpy as np
from msgspec.structs import replace

from tbgen.board.score import GScore
from tbgen.errors import DamagedTableError, MissingLayerError, MissingTableError, TbgenError
from tbgen.games.outcome import classical
from tbgen.games.pgn import tags
from tbgen.games.referee import Arbiter
from tbgen.index.layout import Side, Slot
from tbgen.index.position import board_of, en_passant_board
from tbgen.probe.tablebase import Tablebase
from tbgen.report.model import LinePoint, OverallRecord, Record
from tbgen.report.scan import ANY, EN_PASSANT, CountArray, TableCounts

_logger: Final = logging.getLogger(__name__)


def records_of(scan: TableCounts) -> list[Record]:
    """Return the record of every value of a table, best value for White first, without lines."""
    counts = scan.counts[0].sum(axis=(0, 1)) + scan.en_passant.sum(axis=0)
    return [_record(scan, code, counts[code]) for code in np.flatnonzero(counts.any(axis=1)).tolist()]


def _record(scan: TableCounts, code: int, by_depth: CountArray) -> Record:
    depth = int(np.flatnonzero(by_depth)[-1])
    board = None
    for side in (1, 0):  # later assignments take precedence
        greatest_depth, negated_place = scan.deepest.get((EN_PASSANT, side, code), (-1, 0))
        if greatest_depth == depth:
            row, slot_in_phase = divmod(-negated_place, scan.layout.phase_size)
            board = en_passant_board(scan.layout, *scan.en_passant_rows[row], slot_in_phase)
        greatest_depth, negated_place = scan.deepest.get((ANY, side, code), (-1, 0))
        if greatest_depth == depth:
            board = board_of(scan.layout, Side(side), Slot(-negated_place))
    assert board is not None
    value = GScore.from_code(code)
    ties = int(by_depth[depth])
    to_move = chess.COLOR_NAMES[board.turn]
    return Record(scan.material, scan.info.variant, value, depth, ties, fen=board.fen(), to_move=to_move)


def count_omitted_lines(records: Iterable[Record]) -> int:
    """Return the number of records that need a line but have none."""
    return sum(1 for record in records if record.depth and not record.line)


def with_line(record: Record, tables: Tablebase) -> Record:
    """Return a record with best play from its example, replayed by the arbiter to check the line.

    The line is left out if it needs a missing table or an unavailable depth.

    :raises DamagedTableError: if a table cannot be used, or the arbiter does not reach the record's value.
    """
    try:
        line = tables.line(chess.Board(record.fen))
    except DamagedTableError:
        raise
    except (MissingLayerError, MissingTableError):
        return record
    except TbgenError as error:  # for example too little disk space; the rest of the report continues
        _logger.warning("the line of %s to %s is left out: %s", record.material, record.value, error)
        return record
    points = tuple(LinePoint(ply.san, ply.uci, ply.accrued, ply.depth) for ply in line)
    replayed_record = with_moves(record, [ply.uci for ply in line])
    if replayed_record is None or replayed_record.line != points:
        raise DamagedTableError(
            f"the longest way of {record.material} to {record.value}, from {record.fen}, does not lead "
            f"there; find out why with: tbgen verify {record.material} --rules {record.variant}"
        )
    return replayed_record


def with_moves(record: Record, moves: Sequence[str]) -> Record | None:
    """Return a record with a line of moves in UCI notation, replayed by the arbiter.

    The result is None unless the line has as many plies as the record's depth, and the accrued score equals
    the record's value after the last ply but not before.

    :raises UsageError: if a move is illegal.
    """
    arbiter = Arbiter(record.fen, fifty_move_rule="none", rules=record.variant)
    line = []
    accrued_scores = [arbiter.accrued]
    for depth, uci in zip(reversed(range(len(moves))), moves, strict=True):
        board = arbiter.board
        move = chess.Move.from_uci(uci)
        arbiter.push(move)
        line.append(LinePoint(board.san(move), uci, arbiter.accrued, depth))
        accrued_scores.append(arbiter.accrued)
    if [accrued == record.value for accrued in accrued_scores] != [False] * record.depth + [True]:
        return None
    return replace(record, line=tuple(line), pgn=_pgn(record, line), verified=True)


def _pgn(record: Record, line: Sequence[LinePoint]) -> str:
    """Return the line as a PGN game, in which comments show changes of the accrued score."""
    board = chess.Board(record.fen)
    scores = [GScore.of_board(board), *(ply.accrued for ply in line)]
    for ply in line:
        board.push_uci(ply.uci)
    game = chess.pgn.Game.from_board(board)
    game.headers["Event"] = f"{record.material}: longest way to {record.value}, {record.depth} plies"
    game.headers["Result"] = classical(record.value)
    game.headers[tags.RESULT_TAGS[record.variant].result] = str(record.value)
    game.comment = str(scores[0])
    for node, before, accrued in zip(game.mainline(), scores, scores[1:], strict=False):
        node.comment = "" if accrued == before else str(accrued)
    return f"{game}\n"


def overall_records(records: Iterable[Record]) -> list[OverallRecord]:
    """Return the longest way to each score among the records of many tables under the same rules.

    Scores are in the order G0.0, G0.5, G1.0, ...; the holder may be either side. For materials whose sides
    have the same men, only White's scores count, so that a position and its image with exchanged colours
    count once.
    """
    counted_records = [record for record in records if record.value.white or not record.material.symmetric]
    overall = []
    for rank in sorted({record.value.rank for record in counted_records}):
        depth = max(record.depth for record in counted_records if record.value.rank == rank)
        longest = [record for record in counted_records if (record.value.rank, record.depth) == (rank, depth)]
        longest.sort(key=lambda record: (record.material, not record.value.white))
        ties = sum(record.ties for record in longest)
        overall.append(OverallRecord(GScore(rank, True), depth, ties, tuple(longest)))
    return overall
