"""Measure a match at fixed nodes: games a minute, and the share of the time that the match runner needs.

    python benchmarks/match_overhead.py stockfish --nodes 20000 --rounds 20 --concurrency 2

Two shares are printed. The share of the clock is the time in which no engine of a game slot thinks: moves
are transferred, games are started, files are written and synced, or the machine is busy. The share of the
processor compares the computing time of the runner with the thinking time of the engines. Other work on the
machine does not change this share.
"""

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path

from tbgen.board.variant import Variant
from tbgen.games.game_options import FiftyMoveRule, GameOptions
from tbgen.games.live_file import GameMove
from tbgen.match.adjudication import Judge, StopRules
from tbgen.match.clock import TimeControl
from tbgen.match.event import run_event
from tbgen.match.event_settings import Entrant, EventSettings
from tbgen.match.messages import LiveWriter, Message, Note
from tbgen.uci.process import EngineSettings


class Counter:
    """A listener that counts moves and prints notes."""

    plies = 0

    def __call__(self, message: Message) -> None:
        match message:
            case GameMove():
                self.plies += 1
            case Note():
                print(message.text)


def main() -> None:
    """Play a match of an engine against itself, and print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engine", help="a UCI engine")
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--concurrency", type=int, default=2)
    parser.add_argument("--moves", type=int, default=60, help="number of moves after which games are stopped")
    arguments = parser.parse_args()
    command = (shutil.which(arguments.engine) or arguments.engine,)
    control = TimeControl(nodes=arguments.nodes)
    with tempfile.TemporaryDirectory() as folder:
        settings = EventSettings(
            tuple(Entrant(EngineSettings(name, command), control) for name in "AB"),
            Path(folder, "games.pgn"),
            rounds=arguments.rounds,
            concurrency=arguments.concurrency,
            stop=StopRules(max_moves=arguments.moves),
        )
        counter = Counter()
        options = GameOptions(Variant.R_MOBILITY, FiftyMoveRule.IMPROVING)
        cpu_before = os.times()
        start = time.perf_counter()
        with LiveWriter(settings.pgn, print) as writer:
            summary = run_event(settings, options, Judge(None), [counter, writer])
        seconds = time.perf_counter() - start
        cpu_after = os.times()
    cpu_seconds = cpu_after.user + cpu_after.system - cpu_before.user - cpu_before.system
    slots = seconds * arguments.concurrency
    moves = counter.plies
    thinking = summary.thinking_seconds
    print(f"{summary.games} games of {moves / summary.games:.0f} plies in {seconds:.1f} s")
    print(f"{60 * summary.games / seconds:.1f} games a minute, {1e3 * thinking / moves:.2f} ms a move")
    print(f"share of the runner: {1 - thinking / slots:.1%} of the clock")
    print(f"it computes {1e3 * cpu_seconds / moves:.2f} ms a move, {cpu_seconds / thinking:.1%} of thinking")


if __name__ == "__main__":
    main()
