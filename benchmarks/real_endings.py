"""What is proved of positions in which real games were given up as drawn, with a fixed budget for each.

    python benchmarks/real_endings.py FILE.jsonl --dir data --time 60s --memory 12G --results proved.jsonl

The file has an object a line: ``fen``, ``accrued``, and what else describes the position. Results are added
to ``--results`` one by one, and positions found there are left out: what was stopped goes on. At the end, and
with ``--count`` at once, it prints by number of pieces and pawns how many values are known, how many points
(those of the winner scoring, cutoff G6.0), and how many intervals are narrower than at the beginning.
"""

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import tbgen
from tbgen.board.score import GScore
from tbgen.board.scoring import Scoring
from tbgen.solve.budget import Budget
from tbgen.text import parse_duration, parse_size

WORST = ["-G0.0", "G0.0"]


def main() -> None:
    """Solve what is asked for, and count what is known."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("positions", type=Path)
    parser.add_argument("--dir", type=Path, default=Path("data"))
    parser.add_argument("--time", type=parse_duration, default=60.0)
    parser.add_argument("--memory", type=parse_size, default=12 << 30)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--pieces", type=int, default=2, help="most pieces besides kings and pawns")
    parser.add_argument("--men", type=int, default=6, help="fewest men")
    parser.add_argument("--seed", type=int, default=1, help="of the order")
    parser.add_argument("--count", action="store_true", help="only count what is known")
    arguments = parser.parse_args()
    positions = [json.loads(line) for line in arguments.positions.read_text().splitlines()]
    Random(arguments.seed).shuffle(positions)
    known = _read(arguments.results)
    asked = [
        position
        for position in positions
        if position["pieces"] <= arguments.pieces and position["men"] >= arguments.men
    ]
    if not arguments.count:
        for number, position in enumerate(asked, 1):
            key = f"{position['fen']} {position['accrued']}"
            if key not in known:
                known[key] = _solve(position, arguments)
                with arguments.results.open("a") as results:
                    results.write(json.dumps(known[key]) + "\n")
                result = known[key]
                print(number, key, result["lower"], result["upper"], f"{result['seconds']:.0f} s", flush=True)
    print(_counted(known.values()))


def _read(path: Path) -> dict[str, dict[str, Any]]:
    lines = path.read_text().splitlines() if path.exists() else []
    found = [json.loads(line) for line in lines]
    return {f"{each['fen']} {each['accrued']}": each for each in found}


def _solve(position: dict[str, Any], arguments: argparse.Namespace) -> dict[str, Any]:
    began = time.perf_counter()
    budget = Budget(seconds=arguments.time, memory=arguments.memory)
    try:
        solution = tbgen.solve(position["fen"], position["accrued"], tables=arguments.dir, budget=budget)
        lower, upper = str(solution.lower), str(solution.upper)
        said: dict[str, Any] = {"cells": solution.cells, "stopped_by": solution.stopped_by}
    except tbgen.TbgenError as error:
        (lower, upper), said = WORST, {"error": str(error)}
    return {
        **position,
        "lower": lower,
        "upper": upper,
        "seconds": round(time.perf_counter() - began, 1),
        **said,
    }


def _counted(results: Iterable[dict[str, Any]]) -> str:
    """Return a table of what is known, by pieces and pawns."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for result in results:
        groups[str(result["pieces"]), str(result["pawns"])].append(result)
        groups["all", ""].append(result)
    scoring = Scoring.parse("winner", "G6.0")
    rows = [["pieces", "pawns", "positions", "exact", "points", "narrowed"]]
    for group in sorted(groups):
        ends = [(GScore.parse(each["lower"]), GScore.parse(each["upper"])) for each in groups[group]]
        exact = sum(lower == upper for lower, upper in ends)
        decided = sum(scoring.points(lower) == scoring.points(upper) for lower, upper in ends)
        narrowed = sum([str(lower), str(upper)] != WORST for lower, upper in ends)
        rows.append([*group, str(len(ends)), str(exact), str(decided), str(narrowed)])
    return "\n".join("".join(f"{cell:>10}" for cell in row) for row in rows)


if __name__ == "__main__":
    main()
