"""``tbgen probe``: value, moves and best play of positions."""

import argparse
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

import chess

from tbgen.board.fen import Fen, parse_fen
from tbgen.board.score import GScore
from tbgen.board.scoring import Scoring
from tbgen.cli.answers import MobilityAnswer, PositionAnswer
from tbgen.cli.options import add_directory, add_json, add_rules, add_scoring, directory_of, scoring_of
from tbgen.cli.standard_input import batches_of_lines
from tbgen.cli.streams import say
from tbgen.errors import MissingLayerError, TbgenError, UsageError
from tbgen.probe.batch import BATCH, MOVES_BATCH
from tbgen.probe.line import LinePly
from tbgen.probe.tablebase import Tablebase
from tbgen.probe.views import View

if TYPE_CHECKING:
    from tbgen.probe.view_tables import ViewTables

_STANDARD_INPUT: Final = "-"

_DESCRIPTION = """\
Print the value of a position under optimal play of both sides, the depth (plies until the accrued score
is that value), and all legal moves, best first, each with value and depth of the state it leads to.

A G-score is held by the side that just moved: G3.5 by White, -G3.5 by Black. The accrued score comes from
--accrued, else from a seventh field of the FEN (unless the halfmove clock is 0); the score of the position
itself is folded in. In whole-game mobility (--rules wg) no move resets it, and the seventh field counts at
every clock.

Positions are FENs, with spaces or, as Lichess has them, underscores, or EPD with operations. A word with a
slash begins the next one, so a FEN needs no quotes. Several are answered one after the other, with --json in
one list. What is wrong with one does not keep the others from an answer; the worst exit code counts.

A packed table stores no depths of most accrued scores: they show as ? (in JSON null), and moves without one
stand last among those of their value, in no order of depth. --depths finds them; a --line that takes them is
left out (in JSON null) with a sentence on stderr.

--view answers in another game: classical (win, draw, loss, plies to mate, no 50-move rule), stalemate-wins
(who stalemates wins), or lasker (who stalemates gets 3/4 of the point). No score accrues there.
"""
_EPILOG = """\
examples:
  tbgen probe "8/8/8/4KBk1/8/8/8/8 b - - 0 1" --line
  tbgen probe "8/8/5k1K/5P2/8/8/8/8 w - - 1 60" --accrued -G2.5
  tbgen probe --rules wg "8/8/5k1K/5P2/8/8/8/8 w - - 1 60 -G2.5"
  tbgen probe --view classical "8/8/8/8/8/8/8/K2kr3 w - - 0 1" "8/8/8/8/8/8/8/K2kq3 w - - 0 1"
  tbgen probe - < positions.fen
  tbgen probe --no-moves - < positions.fen
"""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be said besides the value, and how it is scored; ``accrued`` counts whatever a FEN says."""

    accrued: GScore | None
    moves: bool
    line: bool
    scoring: Scoring
    view: View | None

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> "Wanted":
        """Return what the arguments ask for.

        :raises UsageError: if one of them means nothing.
        """
        accrued = None if arguments.accrued is None else GScore.parse(arguments.accrued)
        view = None if arguments.view is None else View.parse(arguments.view)
        if view is not None:
            for option in ("accrued", "line", "depths", "scoring", "cutoff", "komi"):
                if getattr(arguments, option) not in (None, False):
                    raise UsageError(
                        f"--{option} means nothing with --view, where no score accrues: leave one out"
                    )
        return cls(accrued, not arguments.no_moves, arguments.line, scoring_of(arguments), view)

    @property
    def most(self) -> int:
        """How many positions to answer together: what takes long is not held back for others."""
        if self.line:
            return 16
        return MOVES_BATCH if self.moves else BATCH


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    parser.add_argument(
        "fen",
        nargs="+",
        metavar="FEN",
        help="a position, or several; - reads one FEN per line and answers each in a JSON line, except blank "
        "lines, which are skipped without an answer",
    )
    parser.add_argument(
        "--accrued", metavar="G", help="accrued score, such as G3.5, -G3.5 or mG3.5 (m for minus)"
    )
    parser.add_argument("--line", action="store_true", help="add best play of both sides to the goal")
    parser.add_argument(
        "--no-moves", action="store_true", help="leave the moves out, which take nine tenths of the time"
    )
    parser.add_argument(
        "--depths",
        action="store_true",
        help="find the depths of accrued scores that a table does not store; some take minutes and some GiB "
        "of memory for each score, which is said first, and are kept beside the table",
    )
    parser.add_argument("--view", metavar="NAME", help=f"answer in another game: {', '.join(View)}")
    add_rules(parser)
    add_scoring(parser)
    add_json(parser, "one JSON document, for several positions a list")
    add_directory(parser)


def run(arguments: argparse.Namespace) -> int:
    """Probe one position, several, or those of standard input."""
    wanted = Wanted.of(arguments)
    directory_of(arguments)
    with Tablebase(arguments.dir, rules=arguments.variant, depths=arguments.depths) as tables:
        if arguments.fen == [_STANDARD_INPUT]:
            return _batch(tables, wanted)
        texts = positions_of(arguments.fen)
        answers = _answers(tables, texts, wanted)
        return (_print_document if arguments.json else _print)(texts, answers)


def positions_of(words: Sequence[str]) -> list[str]:
    """Return the positions that the words of a command line name.

    A word with a slash begins the next one; if it was quoted, which its spaces tell, nothing else belongs to
    it.

    >>> positions_of(["8/8/8/4KBk1/8/8/8/8", "b", "-", "-", "8/8/8/2K3k1/8/8/8/8 w - - 0 1"])
    ['8/8/8/4KBk1/8/8/8/8 b - -', '8/8/8/2K3k1/8/8/8/8 w - - 0 1']
    """
    texts: list[str] = []
    whole = True
    for word in words:
        if whole or "/" in word:
            texts.append(word)
            whole = " " in word.strip()
        else:
            texts[-1] += f" {word}"
    return texts


def _print(texts: list[str], answers: Iterable[PositionAnswer | TbgenError]) -> int:
    """Print answers on stdout as they come, and errors and remarks on stderr, all with their positions if
    these are several; return the worst exit code."""
    gap, worst = "", 0
    for text, answer in zip(texts, answers, strict=True):
        name = " ".join(text.split())
        before = f"{name}: " if len(texts) > 1 else ""
        if isinstance(answer, TbgenError):
            say(f"tbgen: {before}{answer}")
        else:
            if before:
                print(f"{gap}{name}")
                gap = "\n"
            print("\n".join(answer.text()), flush=True)
            _remark(answer, before)
        worst = max(worst, _exit_code(answer))
    return worst


def _print_document(texts: list[str], answers: Iterable[PositionAnswer | TbgenError]) -> int:
    """Print all answers as one document, and remarks on stderr; return the worst exit code.

    :raises TbgenError: if there is one position, and it has no answer.
    """
    found = list(answers)
    if len(found) == 1 and isinstance(found[0], TbgenError):
        raise found[0]
    documents = list(map(_document, texts, found))
    print(json.dumps(documents if len(texts) > 1 else documents[0], indent=2))
    for text, answer in zip(texts, found, strict=True):
        _remark(answer, f"{text}: " if len(texts) > 1 else "")
    return max(map(_exit_code, found))


def _batch(tables: Tablebase, wanted: Wanted) -> int:
    worst = 0
    for arrived in batches_of_lines(wanted.most):
        texts = [text for line in arrived if (text := line.strip())]
        for text, answer in zip(texts, _answers(tables, texts, wanted), strict=True):
            print(json.dumps(_document(text, answer)), flush=True)
            _remark(answer, f"{text}: ")
            worst = max(worst, _exit_code(answer))
    return worst


def _remark(answer: PositionAnswer | TbgenError, position: str) -> None:
    """Say on stderr what is missing in an answer; ``position`` goes before it."""
    if not isinstance(answer, TbgenError) and answer.remark is not None:
        say(f"tbgen: {position}{answer.remark}")


def _exit_code(answer: PositionAnswer | TbgenError) -> int:
    return answer.exit_code if isinstance(answer, TbgenError) else 0


def _document(text: str, answer: PositionAnswer | TbgenError) -> dict[str, Any]:
    if isinstance(answer, TbgenError):
        return {"fen": text, "error": str(answer), "code": answer.code}
    return answer.document()


def _answers(tables: Tablebase, texts: list[str], wanted: Wanted) -> Iterator[PositionAnswer | TbgenError]:
    """Yield an answer about each position, or what is wrong with it."""
    fens = [_fen(text) for text in texts]
    valid = [fen for fen in fens if isinstance(fen, Fen)]
    named = [" ".join(text.split()) for text, fen in zip(texts, fens, strict=True) if isinstance(fen, Fen)]
    if wanted.view is None:
        found = _of_mobility(tables, named, valid, wanted)
    else:
        found = _of_view(tables.view(wanted.view), named, valid, wanted.moves)
    for fen in fens:
        yield fen if isinstance(fen, TbgenError) else next(found)


def _of_mobility(
    tables: Tablebase, texts: list[str], fens: list[Fen], wanted: Wanted
) -> Iterator[PositionAnswer | TbgenError]:
    boards = [fen.board for fen in fens]
    accrued = [fen.accrued_in(tables.rules) if wanted.accrued is None else wanted.accrued for fen in fens]
    results = tables.probe_many(boards, accrued)
    moves = tables.moves_many(boards, accrued) if wanted.moves else repeat(None)
    for text, board, score, result, ranked in zip(texts, boards, accrued, results, moves, strict=False):
        if isinstance(result, TbgenError):
            yield result
        elif isinstance(ranked, TbgenError):
            yield ranked
        else:
            try:
                line = _line(tables, board, score) if wanted.line else None
                yield MobilityAnswer(text, board, tables.rules, wanted.scoring, result, ranked, line)
            except TbgenError as error:
                yield error


def _line(tables: Tablebase, board: chess.Board, accrued: GScore | None) -> list[LinePly] | MissingLayerError:
    """Return best play, or why only depths that are not stored would tell it: value and moves are there."""
    try:
        return tables.line(board, accrued)
    except MissingLayerError as error:
        return error.with_traceback(None)


def _of_view(
    tables: "ViewTables", texts: list[str], fens: list[Fen], with_moves: bool
) -> Iterator[PositionAnswer | TbgenError]:
    from tbgen.cli.view_answers import ViewAnswer

    boards = [fen.board for fen in fens]
    for text, board, result in zip(texts, boards, tables.probe_many(boards), strict=True):
        if isinstance(result, TbgenError):
            yield result
        else:
            try:
                yield ViewAnswer(text, board, result, tables.moves(board) if with_moves else None)
            except TbgenError as error:
                yield error


def _fen(text: str) -> Fen | TbgenError:
    try:
        return parse_fen(text)
    except TbgenError as error:
        return error.with_traceback(None)
