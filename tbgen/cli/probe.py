"""``tbgen probe``: value, moves and best play of positions."""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import chess

from tbgen.board.fen import Fen, parse_fen
from tbgen.cli.display import diagram, line_document, line_text, mover, points_document
from tbgen.cli.options import add_directory, add_json, add_rules, add_scoring, directory_of, scoring_of
from tbgen.cli.standard_input import batches_of_lines
from tbgen.errors import TbgenError
from tbgen.probe.batch import BATCH, MOVES_BATCH
from tbgen.probe.line import LinePly
from tbgen.probe.moves import RankedMove
from tbgen.probe.states import ProbeResult
from tbgen.probe.tablebase import Tablebase
from tbgen.score import GScore
from tbgen.scoring import Scoring
from tbgen.text import plies
from tbgen.variant import Variant

_DESCRIPTION = """\
Print the value of a position under optimal play of both sides, the depth (plies until the accrued score
is that value), and all legal moves, best first, each with value and depth of the state it leads to.

A G-score is held by the side that just moved: G3.5 by White, -G3.5 by Black. The accrued score comes from
--accrued, else from a seventh field of the FEN (unless the halfmove clock is 0); the score of the position
itself is folded in. In whole-game mobility (--rules wg) no move resets it, and the seventh field counts at
every clock.
"""
_EPILOG = """\
examples:
  tbgen probe "8/8/8/4KBk1/8/8/8/8 b - - 0 1" --line
  tbgen probe "8/8/5k1K/5P2/8/8/8/8 w - - 1 60" --accrued -G2.5
  tbgen probe --rules wg "8/8/5k1K/5P2/8/8/8/8 w - - 1 60 -G2.5"
  tbgen probe - < positions.fen
  tbgen probe --no-moves - < positions.fen
"""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be said besides the value, and how it is scored."""

    moves: bool
    line: bool
    scoring: Scoring

    @property
    def most(self) -> int:
        """How many positions to answer together: what takes long is not held back for others."""
        if self.line:
            return 16
        return MOVES_BATCH if self.moves else BATCH


@dataclass(frozen=True, slots=True)
class Report:
    """All that is said about one position."""

    fen: str
    board: chess.Board
    variant: Variant
    scoring: Scoring
    result: ProbeResult
    moves: list[RankedMove] | None
    line: list[LinePly] | None


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    parser.add_argument(
        "fen",
        nargs="+",
        metavar="FEN",
        help="the position; - reads one FEN per line and answers each in a JSON line, except blank lines, "
        "which are skipped without an answer",
    )
    parser.add_argument(
        "--accrued", metavar="G", help="accrued score, such as G3.5, -G3.5 or mG3.5 (m for minus)"
    )
    parser.add_argument("--line", action="store_true", help="add best play of both sides to the goal")
    parser.add_argument(
        "--no-moves", action="store_true", help="leave the moves out, which take nine tenths of the time"
    )
    add_rules(parser)
    add_scoring(parser)
    add_json(parser, "one JSON document")
    add_directory(parser)


def run(arguments: argparse.Namespace) -> int:
    """Probe one position, or those of standard input."""
    accrued = None if arguments.accrued is None else GScore.parse(arguments.accrued)
    text = " ".join(arguments.fen)
    wanted = Wanted(not arguments.no_moves, arguments.line, scoring_of(arguments))
    directory_of(arguments)
    with Tablebase(arguments.dir, rules=arguments.variant) as tables:
        if text == "-":
            return _batch(tables, accrued, wanted)
        (report,) = _reports(tables, [text], accrued, wanted)
    if isinstance(report, TbgenError):
        raise report
    if arguments.json:
        print(json.dumps(_document(report), indent=2))
    else:
        print("\n".join(_text(report)))
    return 0


def _batch(tables: Tablebase, accrued: GScore | None, wanted: Wanted) -> int:
    worst = 0
    for arrived in batches_of_lines(wanted.most):
        texts = [text for line in arrived if (text := line.strip())]
        for text, report in zip(texts, _reports(tables, texts, accrued, wanted), strict=True):
            if isinstance(report, TbgenError):
                document = {"fen": text, "error": str(report)}
                worst = max(worst, report.exit_code)
            else:
                document = _document(report)
            print(json.dumps(document))
        sys.stdout.flush()
    return worst


def _reports(
    tables: Tablebase, texts: list[str], given: GScore | None, wanted: Wanted
) -> Iterator[Report | TbgenError]:
    """Yield a report on each position, or what is wrong with it."""
    fens = [_fen(text) for text in texts]
    valid = [fen for fen in fens if isinstance(fen, Fen)]
    boards = [fen.board for fen in valid]
    accrued = [_held(fen, tables.rules) if given is None else given for fen in valid]
    results = tables.probe_many(boards, accrued)
    moves = tables.moves_many(boards, accrued) if wanted.moves else repeat(None)
    answers = zip(boards, accrued, results, moves, strict=False)
    for text, fen in zip(texts, fens, strict=True):
        if isinstance(fen, TbgenError):
            yield fen
            continue
        board, score, result, ranked = next(answers)
        if isinstance(result, TbgenError):
            yield result
        elif isinstance(ranked, TbgenError):
            yield ranked
        else:
            try:
                line = tables.line(board, score) if wanted.line else None
                fen_text = " ".join(text.split())
                yield Report(fen_text, board, tables.rules, wanted.scoring, result, ranked, line)
            except TbgenError as error:
                yield error


def _held(fen: Fen, variant: Variant) -> GScore | None:
    """Return the accrued score that a FEN tells of."""
    return fen.accrued if variant.resets else fen.seventh


def _fen(text: str) -> Fen | TbgenError:
    try:
        return parse_fen(text)
    except TbgenError as error:
        return error.with_traceback(None)


def _document(report: Report) -> dict[str, Any]:
    result = report.result
    document: dict[str, Any] = {
        "fen": report.fen,
        "material": result.material.name,
        "rules": report.variant,
        "position_score": str(result.position_score),
        "accrued": str(result.accrued),
        "value": str(result.value),
        "holder": result.value.holder,
        "depth": result.depth,
        "points": points_document(report.scoring, result.value),
    }
    if report.moves is not None:
        document["moves"] = [
            {
                "uci": move.uci,
                "san": move.san,
                "value": str(move.value),
                "depth": move.depth,
                "zeroing": move.zeroing,
            }
            for move in report.moves
        ]
    if report.line is not None:
        document["line"] = line_document(report.line)
    return document


def _text(report: Report) -> Iterator[str]:
    result = report.result
    yield from diagram(report.board)
    yield ""
    variant = report.variant
    yield f"{result.material}, {_situation(report)}{'' if variant.resets else f', {variant.label}'}"
    yield f"value           {result.value}  ({result.value.holder.capitalize()} holds it)"
    yield f"depth           {plies(result.depth)}"
    yield f"accrued score   {result.accrued}"
    yield f"position score  {result.position_score}"
    yield f"points          {report.scoring.text(result.value)}  (White-Black)"
    if report.moves:
        yield ""
        width = max(len(move.san) for move in report.moves)
        for move in report.moves:
            reset = "  resets" if move.zeroing and variant.resets else ""
            yield f"{move.san:{width}}  {move.value!s:>6}  {plies(move.depth):>9}{reset}"
    if report.line is not None:
        yield ""
        yield from line_text(report.board, report.line)


def _situation(report: Report) -> str:
    rank = report.result.position_score.rank
    if rank > 1:
        return f"{mover(report.board)} to move"
    return "stalemate" if rank else "mate"
