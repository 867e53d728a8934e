"""``tbgen probe``: value, moves and best play of positions."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Annotated, TypeAlias

import click
from click.core import ParameterSource
from msgspec import Struct

from tbgen.board.fen import AnyBoard, DescribedFen, Fen, is_fen, parse_position
from tbgen.board.score import GScore
from tbgen.board.scoring import Scoring
from tbgen.board.variant import Variant
from tbgen.cli.answers import MobilityAnswer, ViewAnswer
from tbgen.cli.options import Accrued, AsJson, Rules, ScoringOptions, Setting, TableDirectory, command
from tbgen.cli.streams import batches_of_lines, print_document, say
from tbgen.documents import Document
from tbgen.errors import MissingLayerError, TbgenError, UsageError, printable, quote, result_or_error
from tbgen.probe.moves import LinePly
from tbgen.probe.probe_document import PositionErrorDocument
from tbgen.probe.tablebase import BATCH_SIZE, MOVES_BATCH_SIZE, Tablebase
from tbgen.probe.views import View

Answer: TypeAlias = MobilityAnswer | ViewAnswer | TbgenError
"""The answer for one position, or the error that prevented it."""


@command
def run(
    *words: Annotated[str, Setting(required=True, metavar="FEN...")],
    accrued: Accrued,
    line: bool,
    no_moves: bool,
    depths: bool,
    view: View | None,
    check: bool,
    variant: Rules = Variant.R_MOBILITY,
    scoring_options: ScoringOptions,
    json: AsJson,
    directory: TableDirectory,
) -> int:
    """Print the value, the depth and the moves of a position under optimal play of both sides.

    The depth is the number of plies until the accrued score equals the value. All legal moves are listed,
    best first, each with the value and depth of the state after it.

    The score of a position belongs to the side that has just moved: G3.5 to White, -G3.5 to Black. The
    accrued score comes from --accrued, else from a seventh field of the FEN (unless the halfmove clock is 0).
    The score of the position itself is then folded in. In whole-game mobility (--rules wg) no move resets the
    accrued score, so the seventh field counts whatever the halfmove clock is.

    Positions are FENs, with spaces or underscores between the fields, or EPD with operations. Described men
    are written in brackets, White's in capital letters, and their moves are shown as two squares, from and
    to. A word with a slash begins the next position, so a FEN needs no quotes. Several positions are answered
    one after the other, with --json in one list. An error in one position does not affect other positions.
    The exit code is the code of the worst error.

    A packed table does not store the depths of most accrued scores. Missing depths are shown as ? (null in
    JSON). Moves without a depth come last among the moves of their value, in no particular order. --depths
    computes the missing depths. If the line requested by --line needs missing depths, the line is left
    out (null in JSON), and a sentence on stderr says so.

    --view answers for another game: classical (win, draw or loss, plies to mate, no 50-move rule),
    stalemate-wins (stalemate wins for the side that gives it), or lasker (stalemate gives that side 3/4 of
    the point). These games have no accrued score.

    \b
    For example:
      tbgen probe "8/8/8/4KBk1/8/8/8/8 b - - 0 1" --line
      tbgen probe "8/8/5k1K/5P2/8/8/8/8 w - - 1 60" --accrued -G2.5
      tbgen probe "8/8/8/4K[WD]k1/8/8/8/8 b"
      tbgen probe --rules wg "8/8/5k1K/5P2/8/8/8/8 w - - 1 60 -G2.5"
      tbgen probe --view classical "8/8/8/8/8/8/8/K2kr3 w - - 0 1"
      tbgen probe - < positions.fen
      tbgen probe --no-moves - < positions.fen

    :param words: one position or several; - reads one FEN per line and answers each with a line of JSON;
        blank lines are skipped
    :param line: add best play of both sides to the value
    :param no_moves: leave out the moves, which take nine tenths of the time
    :param depths: compute depths of accrued scores that a table does not store, and store them beside the
        table; for each score this may take minutes and several GiB of memory (a message says so first)
    :param view: answer for another game: classical, stalemate-wins, lasker
    :param check: compare each table that is read with its digest first, which reads the whole file
    :param json: print one JSON document, for several positions a list
    """
    if view is not None:
        _check_view(click.get_current_context())
    with Tablebase(directory, rules=variant, depths=depths, check=check) as tables:
        prober = _Prober(tables, accrued, not no_moves, line, scoring_options.scoring, view)
        if list(words) == ["-"]:
            return _print_lines(prober)
        if len(words) == 1 and not is_fen(words[0]) and os.path.isfile(words[0]):
            command = f"tbgen probe - < {shlex.quote(words[0])}"
            raise UsageError(f"{quote(words[0])} is not a FEN; for a file: {command}")
        texts = positions_of(words)
        return (_print_document if json else _print)(texts, prober.answers(texts))


def _check_view(context: click.Context) -> None:
    for option in context.command.params:
        is_set = context.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE
        if is_set and option.name in ("accrued", "line", "depths", "scheme", "cutoff", "komi"):
            raise UsageError(f"{option.opts[0]} cannot be used with --view: no score accrues in that game")


def positions_of(words: Sequence[str]) -> list[str]:
    """Return the positions named by the words of a command line.

    A word with a slash begins the next position. A word with spaces was quoted and is a complete position.

    :raises UsageError: if one of the positions is ``-``, the name of standard input.

    >>> positions_of(["8/8/8/4KBk1/8/8/8/8", "b", "-", "-", "8/8/8/2K3k1/8/8/8/8 w - - 0 1"])
    ['8/8/8/4KBk1/8/8/8/8 b - -', '8/8/8/2K3k1/8/8/8/8 w - - 0 1']
    """
    texts: list[str] = []
    complete = True
    for word in words:
        if complete or "/" in word:
            texts.append(word)
            complete = " " in word.strip()
        else:
            texts[-1] += f" {word.strip()}"
    if "-" in texts:
        raise UsageError("- stands for FENs on standard input: give either FENs or -, not both")
    return texts


def _print(texts: list[str], answers: Iterable[Answer]) -> int:
    """Print answers on stdout as they arrive, and errors and remarks on stderr. Return the worst exit code.

    If there are several positions, each answer and remark names its position.
    """
    separator = ""
    worst = 0
    for text, answer in zip(map(printable, texts), answers, strict=True):
        prefix = f"{text}: " if len(texts) > 1 else ""
        if isinstance(answer, TbgenError):
            say(f"tbgen: {prefix}{answer}")
        else:
            if prefix:
                print(f"{separator}{text}")
                separator = "\n"
            print("\n".join(answer.text()), flush=True)
        worst = max(worst, _say_remarks(answer, prefix))
    return worst


def _print_document(texts: list[str], answers: Iterable[Answer]) -> int:
    """Print all answers as one document, and remarks on stderr. Return the worst exit code.

    :raises TbgenError: if there is only one position and it has no answer.
    """
    all_answers = list(answers)
    documents = list(map(_document, texts, all_answers))
    if len(texts) > 1:
        print_document(documents)
        names = map(printable, texts)
        return max(_say_remarks(answer, f"{text}: ") for text, answer in zip(names, all_answers, strict=True))
    if isinstance(all_answers[0], TbgenError):
        raise all_answers[0]
    print_document(documents[0])
    return _say_remarks(all_answers[0], "")


def _print_lines(prober: _Prober) -> int:
    """Print a one-line document for each position of standard input. Return the worst exit code."""
    worst = 0
    for batch in batches_of_lines(prober.batch_size):
        texts = [line.rstrip("\r\n") for line in batch if line.strip()]
        for text, answer in zip(texts, prober.answers(texts), strict=True):
            print_document(_document(text, answer), indent=None)
            worst = max(worst, _say_remarks(answer, f"{text}: "))
    return worst


def _say_remarks(answer: Answer, prefix: str) -> int:
    """Print the remarks of an answer on stderr, each after ``prefix``. Return the answer's exit code."""
    if isinstance(answer, MobilityAnswer):
        for remark in (answer.note, answer.line if isinstance(answer.line, MissingLayerError) else None):
            if remark is not None:
                say(f"tbgen: {prefix}{remark}")
    return answer.exit_code if isinstance(answer, TbgenError) else 0


def _document(text: str, answer: Answer) -> Document:
    if isinstance(answer, TbgenError):
        return PositionErrorDocument(text, str(answer), answer.code)
    return answer.document(text)


class _Prober(Struct, frozen=True):
    """Answers questions about positions. ``accrued``, if not None, overrides the accrued score in a FEN."""

    tables: Tablebase
    accrued: GScore | None
    with_moves: bool
    with_line: bool
    scoring: Scoring
    view: View | None

    @property
    def batch_size(self) -> int:
        """Number of positions in a batch. It is smaller if answers are slow, so that they appear sooner."""
        return 16 if self.with_line else MOVES_BATCH_SIZE if self.with_moves else BATCH_SIZE

    def answers(self, texts: list[str]) -> Iterator[Answer]:
        """Yield the answer for each position, or the error that prevented it."""
        fens = [result_or_error(parse_position, text) for text in texts]
        valid = [fen for fen in fens if not isinstance(fen, TbgenError)]
        answers = self._mobility_answers(valid) if self.view is None else self._view_answers(valid, self.view)
        for fen in fens:
            yield fen if isinstance(fen, TbgenError) else next(answers)

    def _mobility_answers(self, fens: list[Fen | DescribedFen]) -> Iterator[Answer]:
        tables = self.tables
        boards = [fen.board for fen in fens]
        accrued = [fen.accrued_in(tables.rules) if self.accrued is None else self.accrued for fen in fens]
        results = tables.probe_many(boards, accrued)
        moves = tables.moves_many(boards, accrued) if self.with_moves else repeat(None)
        notes = [fen.note(tables.rules) if self.accrued is None else None for fen in fens]
        for board, score, note, result, ranked in zip(boards, accrued, notes, results, moves, strict=False):
            if isinstance(result, TbgenError):
                yield result
            elif isinstance(ranked, TbgenError):
                yield ranked
            else:
                try:
                    line = self._line(board, score) if self.with_line else None
                    yield MobilityAnswer(board, tables.rules, self.scoring, result, ranked, line, note=note)
                except TbgenError as error:
                    yield error

    def _line(self, board: AnyBoard, accrued: GScore | None) -> list[LinePly] | MissingLayerError:
        """Return best play, or, if depths needed for it are not stored, the error that names them."""
        try:
            return self.tables.line(board, accrued)
        except MissingLayerError as error:
            return error.with_traceback(None)

    def _view_answers(self, fens: list[Fen | DescribedFen], view: View) -> Iterator[Answer]:
        tables = self.tables.view(view)
        boards = [fen.board for fen in fens]
        for board, result in zip(boards, tables.probe_many(boards), strict=True):
            if isinstance(result, TbgenError):
                yield result
            else:
                try:
                    yield ViewAnswer(board, result, tables.moves(board) if self.with_moves else None)
                except TbgenError as error:
                    yield error
