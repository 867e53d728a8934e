#!/usr/bin/env python3
"""Measure `tbgen tag` in games per second, against a plain loop with python-chess in the same run.

    scripts/bench_tag.py
    scripts/bench_tag.py --games 2000 --jobs 1 2 4 --dir data

The games are random and the same in every run: 120 plies with comments as engines' games have them, one in
four ending with four men, adjudicated draws all. The command is timed as a whole, its start included, from
file to file. The loop reads a share of the games with `chess.pgn.read_game`, replays them, and counts moves
in every position after the last capture or pawn move, as scripts do that score a game; it changes no file.
"CPU" is the rate per second of CPU time of all processes, which a busy machine changes less.

With `--dir` the games that end with four men are worth what its tables say, and the last line is the share of
the time that looking them up takes, in this process.
"""

import argparse
import io
import platform
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import chess
import chess.pgn

from tbgen.games.tagging import Adjudicator, tag_games
from tbgen.probe.states import ProbeResult
from tbgen.probe.tablebase import Tablebase
from tbgen.score import GScore

PLIES = 120
DIFFERENT = 400
"""Games that are made; more games than that repeat their moves under other tags."""
ENDGAMES = 4
"""One game in so many ends with four men."""
BY_LOOP = 300
BY_PROBING = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--games", type=int, default=10_000, metavar="N")
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2], metavar="N")
    parser.add_argument("--dir", metavar="DIR", help="tables for the games that end with four men")
    arguments = parser.parse_args()
    start = time.perf_counter()
    movetexts = made_up_movetexts(min(DIFFERENT, arguments.games))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "games.pgn"
        with path.open("w") as file:
            for number in range(arguments.games):
                file.write(game_text(number, movetexts[number % len(movetexts)]))
        size, seconds = path.stat().st_size / 2**20, time.perf_counter() - start
        print(f"{platform.machine()}, Python {platform.python_version()}, {arguments.games} games of {PLIES}")
        print(f"plies, {size:.1f} MiB, made in {seconds:.1f} s")
        print(f"\n{'':20} {'games':>7} {'seconds':>8} {'games/s':>9} {'CPU':>9} {'ratio':>6} {'CPU':>6}")
        loop = report("python-chess, loop", *loop_seconds(path, min(BY_LOOP, arguments.games)))
        for jobs in arguments.jobs:
            times = command_seconds(path, arguments.games, jobs, arguments.dir)
            report(f"tbgen tag --jobs {jobs}", *times, loop)
        if arguments.dir:
            look_ups(path, arguments.dir)


def report(
    name: str, games: int, seconds: float, busy: float, loop: tuple[float, float] | None = None
) -> tuple[float, float]:
    """Print one row and return its rates, by the clock and by CPU time."""
    rates = games / seconds, games / busy
    row = f"{name:20} {games:7} {seconds:8.2f} {rates[0]:9,.0f} {rates[1]:9,.0f}"
    print(row + (f" {rates[0] / loop[0]:6.1f} {rates[1] / loop[1]:6.1f}" if loop else ""), flush=True)
    return rates


def loop_seconds(path: Path, games: int) -> tuple[int, float, float]:
    """Time reading and scoring games as scripts do."""
    start, busy = time.perf_counter(), time.process_time()
    with path.open() as file:
        for _ in range(games):
            game = chess.pgn.read_game(file)
            assert game is not None
            accrued_score(game)
    return games, time.perf_counter() - start, time.process_time() - busy


def accrued_score(game: chess.pgn.Game) -> GScore:
    """The least score since the last capture or pawn move."""
    board = game.board()
    moves = list(game.mainline_moves())
    resets = [0]
    for ply, move in enumerate(moves, 1):
        if board.is_zeroing(move):
            resets.append(ply)
        board.push(move)
    for _ in moves[resets[-1] :]:
        board.pop()
    accrued = GScore.of_board(board)
    for move in moves[resets[-1] :]:
        board.push(move)
        score = GScore(2 * board.legal_moves.count() + (not board.is_check()), not board.turn)
        accrued = score if score.rank < accrued.rank else accrued
    return accrued


def command_seconds(path: Path, games: int, jobs: int, directory: str | None) -> tuple[int, float, float]:
    """Time the command from file to file."""
    command = [sys.executable, "-m", "tbgen", "tag", str(path), str(path.with_name("tagged.pgn"))]
    command += ["--jobs", str(jobs), "--dir", directory or str(path.with_name("no_tables"))]
    start, busy = time.perf_counter(), child_seconds()
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    seconds, busy = time.perf_counter() - start, child_seconds() - busy
    if done.returncode:
        raise SystemExit(done.stderr)
    return games, seconds, busy


def child_seconds() -> float:
    """CPU seconds of the processes that have been run."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def look_ups(path: Path, directory: str) -> None:
    """Print the share of the time that probing takes of tagging, in all games and in those with four men."""
    spent: list[float] = []
    plain = Tablebase.probe

    def timed(self: Tablebase, board: chess.Board, accrued: GScore | str | None = None) -> ProbeResult:
        start = time.perf_counter()
        try:
            return plain(self, board, accrued)
        finally:
            if board.occupied.bit_count() == 4:
                spent.append(time.perf_counter() - start)

    Tablebase.probe = timed  # type: ignore[method-assign]
    data = path.read_bytes()
    start = time.perf_counter()
    for number, game in enumerate(tag_games(io.BytesIO(data), Adjudicator(directory=directory)), 1):
        assert game.data
        if number == BY_PROBING:
            break
    seconds = time.perf_counter() - start
    Tablebase.probe = plain  # type: ignore[method-assign]
    look_up = sum(spent) / max(len(spent), 1)
    print(f"\nlook-ups: {len(spent)} in {number} games, {look_up * 1e6:.0f} us each; ", end="")
    print(f"{sum(spent) / seconds:.1%} of the time, ", end="")
    print(f"and {look_up / (look_up + (seconds - sum(spent)) / number):.1%} if all games had one")


def made_up_movetexts(count: int) -> list[str]:
    """Movetexts of random games, wrapped as programs do."""
    rng = random.Random(0)
    return [movetext(rng, number % ENDGAMES == 0) for number in range(count)]


def movetext(rng: random.Random, endgame: bool) -> str:
    """A random game, which loses its men quickly if it has to end with four."""
    while True:
        board, words = chess.Board(), []
        while len(words) < 2 * PLIES + PLIES // 2:
            moves = list(board.legal_moves)
            if not moves or (endgame and board.occupied.bit_count() < 4):
                break
            captures = [move for move in moves if board.is_capture(move)]
            if endgame and board.occupied.bit_count() > 4:
                moves = captures or moves
            elif endgame:
                moves = [move for move in moves if move not in captures] or moves
            move = rng.choice(moves)
            if board.turn:
                words.append(f"{board.fullmove_number}.")
            comment = f"{rng.uniform(-9, 9):+.2f}/{rng.randrange(5, 30)} 0.{rng.randrange(1000):03}s"
            words += [board.san(move), f"{{{comment}}}"]
            board.push(move)
        else:
            if not endgame or board.occupied.bit_count() == 4:
                words[-1] = words[-1].replace("}", ", Draw by adjudication}")
                return wrapped(" ".join([*words, "1/2-1/2"]))


def wrapped(text: str) -> str:
    """Lines of at most 80 characters."""
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + len(word) > 79:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".lstrip()
    return "\n".join([*lines, line])


def game_text(number: int, moves: str) -> str:
    """A game with tags as Cute Chess writes them."""
    tags = {
        "Event": "Made up",
        "Site": "?",
        "Date": f"2026.01.{number % 28 + 1:02}",
        "Round": str(number + 1),
        "White": f"Engine {number % 7}",
        "Black": f"Engine {number % 5 + 7}",
        "Result": "1/2-1/2",
        "PlyCount": str(PLIES),
        "Termination": "adjudication",
        "TimeControl": "10+0.1",
    }
    return "".join(f'[{name} "{value}"]\n' for name, value in tags.items()) + f"\n{moves}\n\n"


if __name__ == "__main__":
    main()
