"""A UCI engine that says what it is told: ``fake_partner.py MODE LINE,CP,WINS-DRAWS-LOSSES ...``.

The lines, moves with blanks between, are those of the only position that it is asked about, the best one
first. In the mode ``dies`` it ends at the first question, in the mode ``leaves`` when a game begins, in the
mode ``late`` if it is to answer earlier than it has to. In the mode ``wrong`` its move is illegal, in the
mode ``simple`` it knows no option, in the mode ``slow`` it starts when there is a file ``start``, in the mode
``deaf`` it does not answer, in the mode ``asleep`` it is not even ready, in the modes ``mute`` and
``watched`` it answers first when it is stopped, and only ``watched`` says lines before. In the mode
``wordless`` it says no lines, in the mode ``brief`` none where moves to search are named. With ``MODE=FILE``
it writes its process and what it is told; ``start`` lies beside that file.
"""

import os
import sys
import time
from pathlib import Path


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(mode: str, known: list[list[str]]) -> None:
    lines, overhead = 1, 30
    mode, _, log = mode.partition("=")
    if log:
        Path(log).write_text(f"{os.getpid()}\n")
    for line in sys.stdin:
        if log:
            with Path(log).open("a") as file:
                file.write(line)
        words = line.split()
        if words[0] == "uci":
            while mode == "slow" and not Path(log).with_name("start").exists():
                time.sleep(0.01)
            say("id name made up")
            if mode != "simple":
                say("option name MultiPV type spin default 1 min 1 max 500")
                say("option name UCI_ShowWDL type check default false")
                say("option name Move Overhead type spin default 30 min 2 max 500")
                say("option name Best Move type string default <empty>")
            say("uciok")
        elif words[0] == "isready":
            if mode == "leaves":
                sys.exit(1)
            if mode != "asleep":
                say("readyok")
        elif words[:3] == ["setoption", "name", "MultiPV"]:
            lines = int(words[-1])
        elif words[:4] == ["setoption", "name", "Move", "Overhead"]:
            overhead = int(words[-1])
        elif line.lower().startswith("setoption name best move"):
            known.sort(key=lambda each: each[0] != words[-1])
        elif words == ["stop"] and mode in ("mute", "watched"):
            say(f"bestmove {known[0][0].split()[0]}")
            mode = "plain"
        elif words[0] == "go" and mode == "watched":
            say(f"info depth 9 score cp {known[0][1]} nodes 99 time 1 pv {known[0][0]}")
        elif words[0] == "go" and mode not in ("deaf", "mute"):
            if mode == "dies" or (mode == "late" and overhead > 2):
                sys.exit(1)
            asked = words[words.index("searchmoves") + 1 :] if "searchmoves" in words else []
            told = [each for each in known if not asked or each[0].split()[0] in asked]
            silent = mode == "wordless" or (mode == "brief" and asked)
            for place, (moves, points, shares) in enumerate([] if silent else told[:lines], 1):
                wdl = shares.replace("-", " ")
                say(f"info depth 9 multipv {place} score cp {points} wdl {wdl} nodes 99 time 1 pv {moves}")
            say(f"bestmove {'e2e5' if mode == 'wrong' else told[0][0].split()[0]}")
        elif words[0] == "quit":
            return


if __name__ == "__main__":
    main(sys.argv[1], [argument.split(",") for argument in sys.argv[2:]])
