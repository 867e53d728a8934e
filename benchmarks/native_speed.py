"""Measure probes of the C library, of random positions or of neighbours, without and with accrued scores.

    tbgen export flat; make -C native speed
    python benchmarks/native_speed.py flat KRvKN KRvKR KPvKP
    python benchmarks/native_speed.py flat KBNvKR KQRvKR --neighbours

Neighbours are the positions after one and two quiet moves from a random root. Their order, one root after the
other, is the order in which a search visits them.
"""

import argparse
import random
import subprocess
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import chess

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.index.position import random_positions


def main() -> None:
    """Write positions for ``native/speed``, and print its output."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", help="directory of the flat files")
    parser.add_argument("materials", nargs="+", type=Material.parse)
    parser.add_argument("--positions", type=int, default=200_000)
    parser.add_argument("--neighbours", action="store_true")
    parser.add_argument("--program", default="native/speed", type=Path)
    parser.add_argument("--seed", default="0")
    arguments = parser.parse_args()
    if not arguments.program.is_file():
        parser.error(f"there is no {arguments.program}: build it by make -C native speed")
    rng = random.Random(arguments.seed)
    roots = random_roots(rng, arguments.materials)
    boards = list(islice(neighbours(roots) if arguments.neighbours else roots, arguments.positions))
    for heading, lines in (
        ("no accrued score", [board.fen() for board in boards]),
        ("accrued scores", [f"{board.fen()} {random_accrued(rng, board)}" for board in boards]),
    ):
        done = subprocess.run(
            [arguments.program.absolute(), arguments.directory],
            input="\n".join(lines),
            text=True,
            stdout=subprocess.PIPE,
        )
        if done.returncode:
            raise SystemExit(done.returncode)
        print(f"{heading:16}  {done.stdout.strip()}", flush=True)


def random_roots(rng: random.Random, materials: Sequence[Material]) -> Iterator[chess.Board]:
    """Yield random positions with either side to move that are not over and may have an accrued score."""
    generators = [random_positions(material, rng) for material in materials]
    while True:
        board = next(rng.choice(generators))
        assert isinstance(board, chess.Board)
        if any(board.legal_moves):
            board.halfmove_clock = 1
            yield board


def neighbours(roots: Iterator[chess.Board]) -> Iterator[chess.Board]:
    """Yield the positions after one and after two quiet moves from each root, unless the game is over."""
    for root in roots:
        for board in after_quiet_moves(root):
            yield board
            yield from after_quiet_moves(board)


def after_quiet_moves(board: chess.Board) -> Iterator[chess.Board]:
    """Yield the positions after each quiet move, unless the game is over."""
    for move in board.legal_moves:
        if not board.is_zeroing(move):
            after = board.copy(stack=False)
            after.push(move)
            if any(after.legal_moves):
                yield after


def random_accrued(rng: random.Random, board: chess.Board) -> GScore:
    """Return a random accrued score that counts: its rank is at most the position rank."""
    return GScore(rng.randint(2, max(GScore.of_board(board).rank, 2)), rng.random() < 0.5)


if __name__ == "__main__":
    main()
