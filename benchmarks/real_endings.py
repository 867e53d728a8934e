"""Measure what `tbgen solve` proves, and how soon, of positions in which real games were stopped as draws.

    python benchmarks/real_endings.py FILE.jsonl --dir data --results proved.jsonl --times 60s,5m,30m
    python benchmarks/real_endings.py FILE.jsonl --results proved.jsonl --count

The file has an object a line: ``fen``, ``accrued``, ``men``, ``pieces`` (without kings and pawns), and
further fields that describe the position. Each position gets a separate process and the longest of the times.
Every narrower interval is recorded with its time from the start of the process, so one run shows what was
proved within the shorter times. Results are added to ``--results`` one by one. Positions found there are
skipped, unless they had less time: then the attempt is resumed. At the end, and with ``--count`` at once,
tables show how many values, and how many points (winner scoring, cutoff G6.0), were determined by each of the
times. Options of `tbgen solve` may follow after ``--``.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

from tbgen.board.material import MAX_MEN
from tbgen.board.scoring import ANYTHING, ScoreInterval, Scoring
from tbgen.text import duration, parse_duration, share

SCORING: Final = Scoring.parse("winner", "G6.0")
GROUPS: Final = ("6", "7", "8", "9", "10+")
"""Groups of numbers of men that are counted together."""
FEW: Final = 2
"""Maximum number of pieces, without kings and pawns, for counts by men."""
_INTERRUPTED: Final = 130
"""The exit code of a command that was interrupted."""

Position = dict[str, Any]
"""A line of the file."""
Result = dict[str, Any]
"""A line of the results: the position; ``lower`` and ``upper``; ``time``, the seconds allowed; ``seconds``
and ``memory`` (peak in bytes) of the process; ``history``: seconds, lower bound, upper bound and cells solved
of each interval; ``answer``: the document of `tbgen solve`, or ``error``: the reason why it is missing."""


def main() -> None:
    """Solve the requested positions, and count the results."""
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    arguments, options = _parser().parse_args(sys.argv[1:end]), sys.argv[end + 1 :]
    positions = chosen(map(json.loads, arguments.positions.read_text().splitlines()), arguments.half)
    known = read_results(arguments.results)
    longest = max(arguments.times)
    for position in () if arguments.count else positions:
        name = name_of(position)
        asked = position["pieces"] <= arguments.pieces and (
            arguments.men is None or men_of(position) in arguments.men
        )
        if asked and not (name in known and is_final(known[name], longest)):
            result = known[name] = solved(position, longest, arguments.dir, arguments.memory, options)
            with arguments.results.open("a") as file:
                file.write(json.dumps(result) + "\n")
            print(name, result["lower"], result["upper"], f"{result['seconds']:.0f} s", flush=True)
    print("\n".join(counts(positions, known, arguments.times)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("positions", type=Path)
    parser.add_argument("--dir", type=Path, default=Path("data"), help="tables")
    parser.add_argument(
        "--times",
        type=lambda text: sorted(map(parse_duration, text.split(","))),
        default=[60.0],
        help="times to count results by, such as 60s,5m,30m; each position gets the longest",
    )
    parser.add_argument("--memory", default="12G", help="for each position")
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--half", type=int, metavar="SEED", help="use a random half of the positions only")
    parser.add_argument("--pieces", type=int, default=FEW, help="solve those with at most this many pieces")
    parser.add_argument("--men", type=lambda text: text.split(","), help="solve those only, such as 6,7,10+")
    parser.add_argument("--count", action="store_true", help="only count what is known")
    return parser


def chosen(positions: Iterable[Position], half: int | None) -> list[Position]:
    """Return the positions, or a random half of them, in random order, so that any part is a sample."""
    shuffled = list(positions)
    Random(half or 0).shuffle(shuffled)
    return shuffled if half is None else shuffled[: (len(shuffled) + 1) // 2]


def name_of(position: Position) -> str:
    """Return the key of a position in the results."""
    return f"{position['fen']} {position['accrued']}"


def men_of(position: Position) -> str:
    """Return the group of :data:`GROUPS` that contains a position, or its number of men if that is
    smaller."""
    return GROUPS[-1] if position["men"] >= 10 else str(position["men"])


def read_results(path: Path) -> dict[str, Result]:
    """Return the last result of each position in a file, none if the file is missing."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {name_of(result): result for result in map(json.loads, lines)}


def ends_of(result: Result) -> ScoreInterval:
    """Return the final interval."""
    return ScoreInterval.parse(f"{result['lower']} {result['upper']}")


def is_final(result: Result, seconds: float) -> bool:
    """Return whether this time could not improve a result."""
    return ends_of(result).exact or result["time"] >= seconds


def ends_by(result: Result, seconds: float) -> ScoreInterval:
    """Return the interval proved within a time; from the time allowed on, the final one."""
    if seconds >= result["time"]:
        return ends_of(result)
    found = [f"{lower} {upper}" for when, lower, upper, _ in result["history"] if when <= seconds]
    return ScoreInterval.parse(found[-1]) if found else ANYTHING


def solved(position: Position, seconds: float, tables: Path, memory: str, options: Sequence[str]) -> Result:
    """Solve a position in a separate process, with the lines that show the bounds."""
    if sys.platform == "win32":
        raise SystemExit("Windows does not tell how much memory a process held that has ended")
    command = [sys.executable, "-m", "tbgen", "solve", name_of(position), "--json", "--stream", "--line"]
    command += ["--time", f"{seconds:g}s", "--memory", memory, "--dir", str(tables), *options]
    began = time.perf_counter()
    history: list[tuple[float, str, str, int]] = []
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                last = json.loads(line)
                ends = last["lower"], last["upper"]
                if not history or ends != history[-1][1:3]:
                    history.append((round(time.perf_counter() - began, 1), *ends, last["cells"]))
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        took = {"seconds": round(time.perf_counter() - began, 1), "memory": usage.ru_maxrss << 10}
        errors.seek(0)
        said = errors.read().strip()
    if process.returncode == _INTERRUPTED:
        raise KeyboardInterrupt
    lower, upper = history[-1][1:3] if history else map(str, ANYTHING)
    code = process.returncode
    ended = {"error": said or f"exit code {code}"} if code else {"answer": last}
    return {**position, "lower": lower, "upper": upper, "time": seconds, **took, "history": history, **ended}


def counts(positions: Sequence[Position], known: dict[str, Result], times: Sequence[float]) -> Iterator[str]:
    """Yield tables of the results by each of the times.

    The first is about positions with few pieces that no table holds, by their men: among those solved, the
    numbers of proved values and determined points. The second is about all positions; unsolved ones count as
    undetermined.
    """
    few = [each for each in positions if each["pieces"] <= FEW and each["men"] > MAX_MEN]
    heads = [f"{what} by {duration(seconds)}" for what in ("exact", "points") for seconds in times]
    yield from _row("men", "positions", "solved", *heads)
    yield from _row("---", *["--:"] * (2 + len(heads)))
    for group in (*GROUPS, "all"):
        ours = [each for each in few if group in (men_of(each), "all")]
        found = [known[name_of(each)] for each in ours if name_of(each) in known]
        rates = [
            _rate(sum(test(each, limit) for each in found), len(found))
            for test in (_exact, _decided)
            for limit in times
        ]
        yield from _row(group, str(len(ours)), str(len(found)), *rates)
    yield ""
    found = [known[name_of(each)] for each in positions if name_of(each) in known]
    for limit in times:
        rate = _rate(sum(_decided(each, limit) for each in found), len(positions))
        yield f"of all {len(positions)}, decided by {duration(limit)} (table, value or points): {rate}"
    yield f"solved: {len(found)} of {len(positions)}"


def _exact(result: Result, seconds: float) -> bool:
    return ends_by(result, seconds).exact


def _decided(result: Result, seconds: float) -> bool:
    return ends_by(result, seconds).gives_equal_points(SCORING)


def _rate(count: int, total: int) -> str:
    return f"{count} ({share(count / total)})" if total else "0"


def _row(*cells: str) -> Iterator[str]:
    yield f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
