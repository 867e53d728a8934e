"""Measure what `tbgen solve` proves of positions in which real games were stopped as draws, and how soon.

    python benchmarks/real_endings.py FILE.jsonl --dir data --results proved.jsonl --times 60s,5m,30m
    python benchmarks/real_endings.py FILE.jsonl --results proved.jsonl --count

The file has one JSON object per line, with ``fen``, ``accrued``, ``men``, ``pieces`` (the number of pieces
without kings and pawns), and further fields that describe the position. Each position gets a separate process
and the longest of the times. Every narrower interval is recorded with its time from the start of the process,
so one run also shows what was proved within the shorter times. Results are added to ``--results`` one by one.
Positions with a result are skipped. If the result had less time and is not exact, the attempt is repeated. At
the end, tables show how many values, and how many points (winner scoring, cutoff G6.0), were determined
within each of the times. ``--count`` prints only the tables. Options of `tbgen solve` may follow ``--``.
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
from tbgen.text import duration, parse_duration, share_text

SCORING: Final = Scoring.parse("winner", "G6.0")
GROUPS: Final = ("6", "7", "8", "9", "10+")
"""Groups of positions by number of men, for the table of counts."""
FEW_PIECES: Final = 2
"""Maximum number of pieces, without kings and pawns, of positions that are counted by men."""
_INTERRUPTED: Final = 130
"""Exit code of an interrupted command."""

Position = dict[str, Any]
"""A position: one line of the file of positions."""
Result = dict[str, Any]
"""A line of the results. It has the fields of the position, the bounds ``lower`` and ``upper``, the allowed
seconds ``time``, and ``seconds`` and ``memory`` (peak in bytes) of the process. ``history`` has the seconds,
lower bound, upper bound and number of solved cells of each interval. ``answer`` is the document of `tbgen
solve`; if it is missing, ``error`` is the reason."""


def main() -> None:
    """Solve the requested positions, and count the results."""
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    arguments = _parser().parse_args(sys.argv[1:end])
    options = sys.argv[end + 1 :]
    positions = chosen(map(json.loads, arguments.positions.read_text().splitlines()), arguments.half)
    results = read_results(arguments.results)
    longest = max(arguments.times)
    for position in () if arguments.count else positions:
        name = name_of(position)
        requested = position["pieces"] <= arguments.pieces and (
            arguments.men is None or men_of(position) in arguments.men
        )
        if requested and not (name in results and is_final(results[name], longest)):
            result = results[name] = solved(position, longest, arguments.dir, arguments.memory, options)
            with arguments.results.open("a") as file:
                file.write(json.dumps(result) + "\n")
            print(name, result["lower"], result["upper"], f"{result['seconds']:.0f} s", flush=True)
    print("\n".join(counts(positions, results, arguments.times)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("positions", type=Path)
    parser.add_argument("--dir", type=Path, default=Path("data"), help="directory of the tables")
    parser.add_argument(
        "--times",
        type=lambda text: sorted(map(parse_duration, text.split(","))),
        default=[60.0],
        help="times to count results by, such as 60s,5m,30m; each position gets the longest",
    )
    parser.add_argument("--memory", default="12G", help="memory for each position")
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--half", type=int, metavar="SEED", help="use a random half of the positions only")
    parser.add_argument("--pieces", type=int, default=FEW_PIECES, help="solve only up to this many pieces")
    parser.add_argument("--men", type=lambda text: text.split(","), help="solve only these, such as 6,7,10+")
    parser.add_argument("--count", action="store_true", help="only count existing results")
    return parser


def chosen(positions: Iterable[Position], half: int | None) -> list[Position]:
    """Return the positions, or a random half, in random order. So any first part is a random sample."""
    shuffled = list(positions)
    Random(half or 0).shuffle(shuffled)
    return shuffled if half is None else shuffled[: (len(shuffled) + 1) // 2]


def name_of(position: Position) -> str:
    """Return the key of a position in the results."""
    return f"{position['fen']} {position['accrued']}"


def men_of(position: Position) -> str:
    """Return the group of a position, as in :data:`GROUPS`: its number of men, or the last group for many."""
    return GROUPS[-1] if position["men"] >= 10 else str(position["men"])


def read_results(path: Path) -> dict[str, Result]:
    """Return the last result of each position in a file. Without a file there are no results."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {name_of(result): result for result in map(json.loads, lines)}


def final_interval(result: Result) -> ScoreInterval:
    """Return the final interval of a result."""
    return ScoreInterval.parse(f"{result['lower']} {result['upper']}")


def is_final(result: Result, seconds: float) -> bool:
    """Return whether an attempt with this time could not improve a result."""
    return final_interval(result).exact or result["time"] >= seconds


def interval_after(result: Result, seconds: float) -> ScoreInterval:
    """Return the interval that was proved within a time. At or after the allowed time it is the final one."""
    if seconds >= result["time"]:
        return final_interval(result)
    intervals = [f"{lower} {upper}" for moment, lower, upper, _ in result["history"] if moment <= seconds]
    return ScoreInterval.parse(intervals[-1]) if intervals else ANYTHING


def solved(position: Position, seconds: float, tables: Path, memory: str, options: Sequence[str]) -> Result:
    """Solve a position in a separate process, with the lines that show the bounds, and return the result."""
    if sys.platform == "win32":
        raise SystemExit("Windows does not report the peak memory of a process that has ended")
    command = [sys.executable, "-m", "tbgen", "solve", name_of(position), "--json", "--stream", "--line"]
    command += ["--time", f"{seconds:g}s", "--memory", memory, "--dir", str(tables), *options]
    start = time.perf_counter()
    history: list[tuple[float, str, str, int]] = []
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                last = json.loads(line)
                bounds = last["lower"], last["upper"]
                if not history or bounds != history[-1][1:3]:
                    history.append((round(time.perf_counter() - start, 1), *bounds, last["cells"]))
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        costs = {"seconds": round(time.perf_counter() - start, 1), "memory": usage.ru_maxrss << 10}
        errors.seek(0)
        error_text = errors.read().strip()
    if process.returncode == _INTERRUPTED:
        raise KeyboardInterrupt
    lower, upper = history[-1][1:3] if history else map(str, ANYTHING)
    code = process.returncode
    end = {"error": error_text or f"exit code {code}"} if code else {"answer": last}
    return {**position, "lower": lower, "upper": upper, "time": seconds, **costs, "history": history, **end}


def counts(positions: Sequence[Position], known: dict[str, Result], times: Sequence[float]) -> Iterator[str]:
    """Yield tables of the results within each of the times.

    The first table is about positions with few pieces that no table holds, by number of men. It has the
    numbers of proved values and of determined points among the solved positions. The second table is about
    all positions; unsolved positions count as undetermined.
    """
    few_pieces = [item for item in positions if item["pieces"] <= FEW_PIECES and item["men"] > MAX_MEN]
    headings = [f"{name} by {duration(seconds)}" for name in ("exact", "points") for seconds in times]
    yield from _row("men", "positions", "solved", *headings)
    yield from _row("---", *["--:"] * (2 + len(headings)))
    for group in (*GROUPS, "all"):
        group_positions = [item for item in few_pieces if group in (men_of(item), "all")]
        group_results = [known[name_of(item)] for item in group_positions if name_of(item) in known]
        rates = [
            _rate(sum(test(item, limit) for item in group_results), len(group_results))
            for test in (_is_exact, _is_decided)
            for limit in times
        ]
        yield from _row(group, str(len(group_positions)), str(len(group_results)), *rates)
    yield ""
    group_results = [known[name_of(item)] for item in positions if name_of(item) in known]
    for limit in times:
        rate = _rate(sum(_is_decided(item, limit) for item in group_results), len(positions))
        yield f"of all {len(positions)}, decided by {duration(limit)} (table, value or points): {rate}"
    yield f"solved: {len(group_results)} of {len(positions)}"


def _is_exact(result: Result, seconds: float) -> bool:
    return interval_after(result, seconds).exact


def _is_decided(result: Result, seconds: float) -> bool:
    return interval_after(result, seconds).gives_equal_points(SCORING)


def _rate(count: int, total: int) -> str:
    return f"{count} ({share_text(count / total)})" if total else "0"


def _row(*cells: str) -> Iterator[str]:
    yield f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
