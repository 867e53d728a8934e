"""A UCI engine that plays the moves of a list, and fails by its mode: ``engines.py MODE MOVES``.

It imports almost nothing, so that it starts quickly with ``python -S -E``. The number of moves in
``position`` determines its move, so both players may have the same list.
"""

import os
import sys
import time

SHUFFLE = "g1f3 g8f6 f3g1 f6g8"
"""Repeats the start position after 8 plies. There White has 20 moves, the fewest in this game: -G20.5."""
MATE = "f2f3 e7e5 g2g4 d8h4"
PAWNS = "a2a3 a7a6 b2b3 b7b6 c2c3 c7c6 d2d3 d7d6 e2e3 e7e6 f2f3 f7f6 g2g3 g7g6 h2h3 h7h6"
"""Moves that are legal from almost every start position of Chess960."""
WRONG = {
    **{"illegal": "e2e5", "none": "(none)", "late-none": "0000", "late-illegal": "e2e5"},
}
"""Losing moves."""
SPACE = " \t" if "tabs" in sys.argv else " "


def words(name: str, mode: str = "plain", moves: str = SHUFFLE) -> list[str]:
    """Return the words of ``--engine`` for one of these engines."""
    command = ["-S", "-E", __file__, mode, moves]
    return [f"cmd={sys.executable}", *(f"arg={part}" for part in command), f"name={name}"]


def say(line: str) -> None:
    sys.stdout.write(line.replace(" ", SPACE) + "\n")
    sys.stdout.flush()


def main(mode: str, moves: list[str]) -> None:
    if mode == "dead":
        sys.exit(3)
    if mode == "silent":
        time.sleep(1000)
    if mode in ("stubborn", "parent"):
        import signal

        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if mode == "parent":
        import subprocess

        child = subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL)
        sys.stderr.write(f"{child.pid}\n")
    made: list[str] = []
    games = 0
    for line in sys.stdin:
        word, *rest = line.split()
        if word == "uci":
            say("id name scripted")
            say("option name Hash type spin default 16 min 1 max 1024")
            if mode != "plain-chess":
                say("option name UCI_Chess960 type check default false")
            say("option name UCI_Variant type combo default chess var chess var rmobility")
            say("option name Accrued type string default <empty>")
            if mode != "no-uciok":
                say("uciok")
        elif word == "isready":
            say("readyok")
        elif word == "ucinewgame":
            games += 1
        elif word == "position":
            made = rest[rest.index("moves") + 1 :] if "moves" in rest else []
        elif word == "go":
            if mode == "linger" and games > 2 and len(made) == 3:
                time.sleep(1000)
            go(mode, moves[len(made) % len(moves)], games)
        elif word == "quit" and mode != "stubborn":
            return
    if mode in ("stubborn", "parent"):
        time.sleep(1000)  # its input is closed, and it goes on all the same


def thoughts() -> int:
    """Return the number of thoughts in the live file, if this runs in the directory of the event."""
    with open("games.pgn.live") as file:
        return file.read().count('"type":"thought"')


def go(mode: str, move: str, games: int) -> None:
    if mode == "crash" or (mode == "crash-once" and games == 1):
        os.abort() if mode == "crash" else sys.exit(1)
    if mode == "mute":
        time.sleep(1000)
    if mode == "pensive" and games == 1 and move == MATE.split()[0]:
        for number, words in (
            (1, "depth 3 score cp 12 nodes 101 nps 202 tbhits 3 pv f2f3"),
            (2, "depth 7 score mate 3 pv f2f3 e7e5"),
        ):
            say(f"info {words}")
            while thoughts() < number:
                time.sleep(0.01)
    if mode.startswith("late"):
        say("info string late")
    if mode == "flood":
        while True:
            sys.stdout.write("info string " + "x" * 1000 + "\n")
    move = WRONG.get(mode, move)
    if mode == "resigning":
        say("info depth 5 score cp -900 time 1")
    elif mode == "winning":
        say("info depth 5 score cp 900 time 1")
    else:
        say("info depth 3 seldepth 4 multipv 1 score cp 12 nodes 20 time 1 pv " + move)
        say("info depth 4 multipv 2 score cp -50 nodes 20 time 1 pv " + move)
        say("info depth 4 multipv 1 score cp 400 lowerbound nodes 20 time 1 pv " + move)
    say(f"bestmove {move}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2].split())
