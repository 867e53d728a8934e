#!/usr/bin/env python3
"""Compare the results of ``tbgen solve`` for positions that tables hold with the tables.

    scripts/check_solve.py --dir data
    scripts/check_solve.py --dir data --positions 20 --time 20s --results solved.jsonl KRPvKR KPPvKP
    scripts/check_solve.py --dir data --positions 50 --mobile 2 --verify KRPvK KPvKP

Random positions, half of them with an accrued score, are solved with the tables of fewer men only. The
interval of the position, and that of each of its moves, must contain the value of the table, and a stated
depth must be that of the table. Prints a line per table: the number of positions whose value was found, and
of others whose interval was narrowed. Exit code 0 if nothing contradicts the tables, 1 if something does, 3
if a table is missing.
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
"""Numbers of men of tables that are compared."""


@dataclass(frozen=True)
class Task:
    """Settings of the solver."""

    positions: int
    budget: Budget
    mobile: int | None
    """Number of mobile men, chosen at random; None leaves the choice to the solver."""
    verify: bool


def random_board(material: Material, rng: random.Random) -> chess.Board:
    """Return a legal position of the material, perhaps with colours swapped, that is not over."""
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
    """Yield random positions with accrued scores, None for the position score, and a random generator for
    each."""
    for number in range(count):
        rng = random.Random(f"{material} {number}")
        board = random_board(material, rng)
        rank = GScore.of_board(board).rank
        accrued = GScore(rng.randrange(2, rank + 3), rng.random() < 0.5) if rng.random() < 0.5 else None
        if accrued is not None:
            board.halfmove_clock = 1  # an earlier score may count
        yield board, accrued, rng


def contradictions(
    tables: Tablebase, board: chess.Board, accrued: GScore | None, found: Solution
) -> list[str]:
    """Return where a solution contradicts the tables: ``value`` for the position, and moves."""
    told = tables.probe(board, accrued)
    denied = []
    if not found.lower <= told.value <= found.upper:
        denied.append("value")
    if found.depth is not None and told.depth is not None and found.depth != told.depth:
        denied.append("depth")
    known = {move.uci: move for move in tables.moves(board, accrued)}
    for move in found.moves:
        after = known.pop(move.uci)
        right = move.lower <= after.value <= move.upper
        if move.depth is not None and after.depth is not None:
            right &= move.depth == after.depth
        if not right:
            denied.append(move.san)
    return [*denied, *known]


def solve_one(
    tables: Tablebase,
    smaller: Path,
    board: chess.Board,
    accrued: GScore | None,
    rng: random.Random,
    task: Task,
) -> dict[str, object]:
    """Solve a position without its table, and return the result as a row."""
    mobile = None
    if task.mobile is not None:
        squares = list(mobile_squares(board))
        mobile = rng.sample(squares, min(task.mobile, len(squares)))
    found = solve(board, accrued, tables=smaller, budget=task.budget, mobile=mobile, verify=task.verify)
    return {
        "fen": board.fen(),
        "accrued": None if accrued is None else str(accrued),
        "mobile": None if mobile is None else [chess.square_name(square) for square in mobile],
        "lower": str(found.lower),
        "upper": str(found.upper),
        "exact": found.value is not None,
        "narrowed": found.value is None and (found.lower.rank, found.upper.rank) != (0, 0),
        "states_proved": 0 if found.proof is None else found.proof.states,
        "wrong": contradictions(tables, board, accrued, found),
    }


def check(tables: Tablebase, directory: Path, material: Material, task: Task, results: Path | None) -> bool:
    """Solve random positions of one table, print a line, and return whether nothing contradicts the table."""
    key = {"material": str(material), "mobile_men": task.mobile, "verify": task.verify}
    text = results.read_text() if results is not None and results.exists() else ""
    rows = [json.loads(line) for line in text.splitlines() if line.endswith("}")]
    rows = [row for row in rows if {name: row[name] for name in key} == key][: task.positions]
    with tempfile.TemporaryDirectory() as folder:
        smaller = Path(folder)
        for other in tables_in(directory, Variant.R_MOBILITY):
            if other.men < material.men:
                path = table_path(directory, other.name, Variant.R_MOBILITY)
                (smaller / path.name).symlink_to(path.resolve())
        for number, (board, accrued, rng) in enumerate(states(material, task.positions)):
            if number < len(rows):
                continue
            rows.append(key | solve_one(tables, smaller, board, accrued, rng, task))
            if results is not None:
                with results.open("a") as file:
                    file.write(f"{json.dumps(rows[-1])}\n")
    wrong = [row for row in rows if row["wrong"]]
    exact, narrowed, proved = (
        sum(int(row[name]) for row in rows) for name in ("exact", "narrowed", "states_proved")
    )
    agrees = "agrees" if not wrong else f"CONTRADICTS {len(wrong)}, first {wrong[0]['fen']}"
    more = f", {proved:,} states proved" if task.verify else ""
    print(
        f"{material!s:6} {agrees}: {len(rows)} positions, {exact} exact, {narrowed} narrowed{more}",
        flush=True,
    )
    return not wrong


def run(directory: Path, names: list[str], task: Task, results: Path | None) -> int:
    """Compare the named tables, or all of four and five men, and return the exit code.

    :raises MissingTableError: if the directory has none, or a named one is missing.
    """
    there = tables_in(directory, Variant.R_MOBILITY)
    wanted = [Material.parse(name) for name in names] or [each for each in there if each.men in MEN]
    for material in wanted:
        if material not in there:
            raise MissingTableError(material.name, directory)
    if not wanted:
        raise MissingTableError("KPvKP", directory)
    with open_tablebase(directory) as tables:
        agree = [check(tables, directory, material, task, results) for material in wanted]
    return 0 if all(agree) else 1


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("materials", nargs="*", metavar="MATERIAL", help="default: all of 4 and 5 men in DIR")
    parser.add_argument("--dir", type=Path, required=True, help="folder of the tables")
    parser.add_argument("--positions", type=int, default=10, metavar="N", help="of each table (10)")
    parser.add_argument("--time", default="10s", help="for each position (10s)")
    parser.add_argument("--memory", default="8G", help="to solve in (8G)")
    parser.add_argument("--mobile", type=int, metavar="N", help="number of mobile men, chosen at random")
    parser.add_argument("--verify", action="store_true", help="prove forward what is found in cells")
    parser.add_argument("--results", type=Path, metavar="FILE", help="keep rows of JSON, and go on from them")
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
