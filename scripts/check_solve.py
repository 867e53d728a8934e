#!/usr/bin/env python3
"""Compare results of ``tbgen solve`` with tables.

    scripts/check_solve.py --dir data
    scripts/check_solve.py --dir data --positions 20 --time 20s --results solved.jsonl KRPvKR KPPvKP
    scripts/check_solve.py --dir data --positions 50 --mobile 2 --verify KRPvK KPvKP

Random positions of a table, half of them with an accrued score, are solved with only the tables of fewer men.
The interval of the position, and the interval of each of its moves, must contain the value by the table. A
stated depth must be the depth by the table. Prints a line per table: the number of positions whose exact
value was found, and the number of other positions whose interval was narrowed. Exit code 0 if nothing
contradicts the tables, 1 if something does, 3 if a table is missing.
"""

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import chess

from tbgen import TbgenError, open_tablebase
from tbgen.beyond.budget import Budget
from tbgen.beyond.solution import Solution
from tbgen.beyond.solver import solve
from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.cells.cell import mobile_squares
from tbgen.errors import MissingTableError
from tbgen.probe.tablebase import Tablebase
from tbgen.store.format import table_path, tables_in
from tbgen.text import parse_duration, parse_size

MEN = (4, 5)
"""Numbers of men of the tables that are compared by default."""


@dataclass(frozen=True)
class Task:
    """Settings of the solver."""

    positions: int
    budget: Budget
    mobile: int | None
    """Number of mobile men, chosen at random; None leaves the choice to the solver."""
    verify: bool


def random_board(material: Material, rng: random.Random) -> chess.Board:
    """Return a random legal position of the material that is not over. Colours are swapped at random."""
    men = [chess.Piece.from_symbol(man) for man in material.white]
    men += [chess.Piece.from_symbol(man.lower()) for man in material.black]
    while True:
        board = chess.Board(None)
        for square, man in zip(rng.sample(chess.SQUARES, len(men)), men, strict=True):
            board.set_piece_at(square, man)
        board.turn = rng.random() < 0.5
        if board.is_valid() and any(board.legal_moves):
            return board if rng.random() < 0.5 else board.mirror()


def states(material: Material, count: int) -> Iterator[tuple[chess.Board, GScore | None, random.Random]]:
    """Yield random positions, each with an accrued score (None for the position score) and a generator."""
    for index in range(count):
        rng = random.Random(f"{material} {index}")
        board = random_board(material, rng)
        rank = GScore.of_board(board).rank
        accrued = GScore(rng.randrange(2, rank + 3), rng.random() < 0.5) if rng.random() < 0.5 else None
        if accrued is not None:
            board.halfmove_clock = 1  # an earlier score may count
        yield board, accrued, rng


def contradictions(
    tables: Tablebase, board: chess.Board, accrued: GScore | None, solution: Solution
) -> list[str]:
    """Return the parts of a solution that contradict the tables: ``value``, ``depth``, and names of moves."""
    result = tables.probe(board, accrued)
    wrong = []
    if not solution.lower <= result.value <= solution.upper:
        wrong.append("value")
    if solution.depth is not None and result.depth is not None and solution.depth != result.depth:
        wrong.append("depth")
    table_moves = {move.uci: move for move in tables.moves(board, accrued)}
    for move in solution.moves:
        table_move = table_moves.pop(move.uci)
        agrees = move.lower <= table_move.value <= move.upper
        if move.depth is not None and table_move.depth is not None:
            agrees &= move.depth == table_move.depth
        if not agrees:
            wrong.append(move.san)
    return [*wrong, *table_moves]


def solve_one(
    tables: Tablebase,
    smaller: Path,
    board: chess.Board,
    accrued: GScore | None,
    rng: random.Random,
    task: Task,
) -> dict[str, object]:
    """Solve a position with only smaller tables, and return the result as a row."""
    mobile = None
    if task.mobile is not None:
        squares = list(mobile_squares(board))
        mobile = rng.sample(squares, min(task.mobile, len(squares)))
    solution = solve(board, accrued, tables=smaller, budget=task.budget, mobile=mobile, verify=task.verify)
    return {
        "fen": board.fen(),
        "accrued": None if accrued is None else str(accrued),
        "mobile": None if mobile is None else [chess.square_name(square) for square in mobile],
        "lower": str(solution.lower),
        "upper": str(solution.upper),
        "exact": solution.value is not None,
        "narrowed": solution.value is None and (solution.lower.rank, solution.upper.rank) != (0, 0),
        "states_proved": 0 if solution.proof is None else solution.proof.states,
        "wrong": contradictions(tables, board, accrued, solution),
    }


def check(tables: Tablebase, directory: Path, material: Material, task: Task, results: Path | None) -> bool:
    """Solve random positions of one table, print a line, and return whether all results agree with it."""
    key = {"material": str(material), "mobile_men": task.mobile, "verify": task.verify}
    text = results.read_text() if results is not None and results.exists() else ""
    rows = [json.loads(line) for line in text.splitlines() if line.endswith("}")]
    rows = [row for row in rows if {name: row[name] for name in key} == key][: task.positions]
    with tempfile.TemporaryDirectory() as folder:
        smaller_tables = Path(folder)
        for other in tables_in(directory, Variant.R_MOBILITY):
            if other.men < material.men:
                path = table_path(directory, other.name, Variant.R_MOBILITY)
                (smaller_tables / path.name).symlink_to(path.resolve())
        for index, (board, accrued, rng) in enumerate(states(material, task.positions)):
            if index < len(rows):
                continue
            rows.append(key | solve_one(tables, smaller_tables, board, accrued, rng, task))
            if results is not None:
                with results.open("a") as file:
                    file.write(f"{json.dumps(rows[-1])}\n")
    wrong = [row for row in rows if row["wrong"]]
    exact, narrowed, proved = (
        sum(int(row[name]) for row in rows) for name in ("exact", "narrowed", "states_proved")
    )
    verdict = "agrees" if not wrong else f"CONTRADICTS {len(wrong)}, first {wrong[0]['fen']}"
    proof_text = f", {proved:,} states proved" if task.verify else ""
    print(
        f"{material!s:6} {verdict}: {len(rows)} positions, {exact} exact, {narrowed} narrowed{proof_text}",
        flush=True,
    )
    return not wrong


def run(directory: Path, names: list[str], task: Task, results: Path | None) -> int:
    """Compare the named tables, or all tables of four and five men, and return the exit code.

    :raises MissingTableError: if the directory has no such table, or a named table is missing.
    """
    existing = tables_in(directory, Variant.R_MOBILITY)
    wanted = [Material.parse(name) for name in names] or [table for table in existing if table.men in MEN]
    for material in wanted:
        if material not in existing:
            raise MissingTableError(material.name, directory)
    if not wanted:
        raise MissingTableError("KPvKP", directory)
    with open_tablebase(directory) as tables:
        agreements = [check(tables, directory, material, task, results) for material in wanted]
    return 0 if all(agreements) else 1


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("materials", nargs="*", metavar="MATERIAL", help="default: all of 4 and 5 men in DIR")
    parser.add_argument("--dir", type=Path, required=True, help="folder of the tables")
    parser.add_argument("--positions", type=int, default=10, metavar="N", help="positions of each table (10)")
    parser.add_argument("--time", default="10s", help="time for each position (10s)")
    parser.add_argument("--memory", default="8G", help="memory of the solver (8G)")
    parser.add_argument("--mobile", type=int, metavar="N", help="number of mobile men, chosen at random")
    parser.add_argument("--verify", action="store_true", help="prove results of cells forwards")
    parser.add_argument("--results", type=Path, metavar="FILE", help="store rows of JSON, for later runs")
    arguments = parser.parse_args()
    try:
        budget = Budget(parse_duration(arguments.time), parse_size(arguments.memory))
        task = Task(arguments.positions, budget, arguments.mobile, arguments.verify)
        return run(arguments.dir, arguments.materials, task, arguments.results)
    except TbgenError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
