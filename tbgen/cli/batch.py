"""``tbgen solve`` of many positions: a line of JSON for each as soon as it is done, the cheapest first."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tbgen.board.fen import is_fen
from tbgen.board.interval import ANYTHING
from tbgen.board.score import GScore
from tbgen.board.scoring import Scoring
from tbgen.cli.solving import Means, Watch
from tbgen.cli.streams import batches_of_lines, error_document, print_json, say
from tbgen.documents import Document, EndsDocument, Plies, ScoreText
from tbgen.errors import TbgenError, UsageError, quote
from tbgen.probe.documents import PointsDocument, points_document
from tbgen.probe.tablebase import Tablebase
from tbgen.solve.budget import Stop
from tbgen.solve.budgeted import Solver
from tbgen.solve.plan import Job, job_of
from tbgen.solve.results import StateName, open_results
from tbgen.text import counted

_LINES: Final = 1 << 10
"""Lines of standard input that are taken in together."""


class SolvedPositionDocument(Document):
    """What is proved of one position of many."""

    fen: str
    accrued: ScoreText
    value: ScoreText | None
    lower: ScoreText
    upper: ScoreText
    depth: Plies | None
    points: EndsDocument[PointsDocument]
    stopped_by: Stop | None
    """None if the value is known, or if no more was tried in this run."""


def positions_in(words: Sequence[str]) -> list[str] | None:
    """Return the lines of the file of positions that the words of a command line name, ``-`` for standard
    input; None if they are positions themselves.

    :raises UsageError: if there is no such file, or if it has games or nothing.
    :raises TbgenError: if it cannot be read.
    """
    name = words[0]
    if name != "-" and is_fen(" ".join(words)) and not Path(name).exists():
        return None
    if len(words) > 1:
        raise UsageError(f"{quote(' '.join(words))} is neither a FEN nor one file of FENs")
    if ".pgn" in Path(name).suffixes:
        raise UsageError(f"{name} has games: solve their final positions by: tbgen adjudicate {name} --solve")
    lines = list(filter(None, map(str.strip, _lines_of(name))))
    if not lines:
        raise UsageError(f"there is no position in {'standard input' if name == '-' else name}")
    return lines


def _lines_of(name: str) -> Iterator[str]:
    if name == "-":
        for lines in batches_of_lines(_LINES):
            yield from lines
        return
    try:
        yield from Path(name).read_bytes().decode("utf-8-sig", "backslashreplace").split("\n")
    except FileNotFoundError:
        raise UsageError(f"there is no file {quote(name)}: expected a FEN, a file of FENs, or -") from None
    except OSError as error:
        raise TbgenError(f"{quote(name)} cannot be read: {error.strerror}") from None


@dataclass(frozen=True)
class PositionBatch:
    """Solves positions and prints what is proved of each.

    :param means: by what they are solved.
    :param results: a file that keeps what is proved; None for none.
    :param accrued: the accrued score of all of them; None for that of each FEN.
    :param as_list: whether to print one document at the end, in the order of the positions.
    :param stopped: whether to print what is known, and to solve nothing.
    """

    means: Means
    results: Path | None
    accrued: GScore | None
    scoring: Scoring
    directory: Path
    as_list: bool
    stopped: bool = False
    _documents: dict[int, dict[str, Any]] = field(default_factory=dict)
    """By the number of the position."""

    def run(self, texts: Sequence[str]) -> int:
        """Solve positions; return the exit code of the worst error.

        :raises KeyboardInterrupt: if it is interrupted, after what is proved by then has been printed.
        """
        watch = Watch()
        kept = nullcontext() if self.results is None else open_results(self.results, "--results")
        with kept as results, Tablebase(self.directory) as tables:
            watch.solver = solver = self.means.solver(watch, results)
            if self.stopped:
                solver.stop()
            try:
                worst = self._solve(texts, tables, solver, watch)
            finally:  # also where results can no longer be kept
                if self.as_list:
                    print_json([document for _, document in sorted(self._documents.items())])
        say(f"tbgen: {self._summary()}")
        if watch.interrupted and self.results is not None:
            say(f"tbgen: what has been proved is in {self.results}: the same command goes on from there")
        watch.end()
        return worst

    def _solve(self, texts: Sequence[str], tables: Tablebase, solver: Solver, watch: Watch) -> int:
        worst = 0
        jobs: dict[StateName, list[tuple[int, Job]]] = {}
        for number, text in enumerate(texts, 1):
            try:
                job = job_of(text, self.accrued, tables, f"position {number}")
                jobs.setdefault(job.state, []).append((number, job))
            except TbgenError as error:
                worst = max(worst, error.exit_code)
                self._tell(number, error_document(text, error))
        with watch.line as line:
            for done in solver.work_on([alike[0][1] for alike in jobs.values()]):
                line.clear()
                for number, job in jobs[done.state]:
                    text = texts[number - 1]
                    try:
                        self._tell(number, self._document(text, job, solver))
                    except TbgenError as error:
                        worst = max(worst, error.exit_code)
                        self._tell(number, error_document(text, error))
        return worst

    def _document(self, text: str, job: Job, solver: Solver) -> dict[str, Any]:
        found = solver.found(job)
        bounds = ANYTHING if found is None else found.bounds
        return SolvedPositionDocument(
            fen=text,
            accrued=str(job.accrued),
            value=str(bounds.lower) if bounds.exact else None,
            lower=str(bounds.lower),
            upper=str(bounds.upper),
            depth=None if found is None else found.depth,
            points=EndsDocument(*(points_document(self.scoring, score) for score in bounds)),
            stopped_by=solver.stopped_by(job),
        ).plain()

    def _tell(self, number: int, document: dict[str, Any]) -> None:
        self._documents[number] = document
        if not self.as_list:
            print_json(document, indent=None)

    def _summary(self) -> str:
        """Say how much is known of how many positions."""
        counts = Counter(map(_known, self._documents.values()))
        told = ", ".join(f"{number:,} {known}" for known, number in sorted(counts.items()))
        return f"{counted(len(self._documents), 'position')}: {told}"


def _known(document: dict[str, Any]) -> str:
    if "error" in document:
        return "with an error"
    if document["value"] is not None:
        return "exact"
    return "not known" if (document["lower"], document["upper"]) == tuple(map(str, ANYTHING)) else "bounded"
