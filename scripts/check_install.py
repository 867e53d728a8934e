#!/usr/bin/env python3
"""Check an installed tbgen: the commands of README.md, on any system, without the clone's package or a shell.

    python scripts/check_install.py [TBGEN]     # the command to check (default: tbgen of the path)

Tables of two and three men are built in a temporary directory. The expected outputs are stated here, from
README.md and docs. Ends with exit code 1 and the output of the first command that fails.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote
from urllib.request import urlopen

ROOT = Path(__file__).parents[1]
BISHOP = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"
GAMES = ROOT / "tests" / "data" / "g01_exp_default.pgn"


def commands(tbgen: str) -> Iterator[tuple[list[str], str]]:
    """Yield the words of each command, and its expected output."""
    yield ["--version"], "tbgen "
    yield ["build", "--men", "3"], "KPvK"
    yield ["probe", BISHOP, "--line"], "value           G1.5  (White holds it)"
    yield ["adjudicate", str(ROOT / "docs" / "drawn_game.pgn"), "--json"], '"'
    yield ["tag", str(GAMES), "tagged.pgn"], ""
    yield ["score", "tagged.pgn"], "7.8086"
    yield ["solve", "8/8/8/3KRBk1/8/8/8/8 b - - 0 1"], "value"
    yield ["verify", "KBvK"], "proved: 52,234 positions"
    yield ["info", "KBvK"], "28,056 Black to move"
    yield ["publish", "set"], "set: "
    yield ["fetch", "KBvK", "--from", "set", "--dir", "fetched"], ""
    yield ["export", "flat"], "flat: 6 tables"
    yield ["report", "KBvK", "--out", "site"], ""
    players = [word for name in "AB" for word in ("--engine", f"cmd={tbgen} engine", f"name={name}")]
    yield ["match", *players, "--each", "tc=2+0.1", "--rounds", "1", "--pgn", "games.pgn"], "Finished game 1 "
    yield ["completion", "bash"], "tbgen"
    yield ["cache"], ""


def run(words: list[str], printed: str, sent: str = "") -> None:
    """Run a command to its end.

    :raises SystemExit: if it fails, or its output is not the expected one.
    """
    done = subprocess.run(words, input=sent, capture_output=True, text=True, encoding="utf-8", timeout=3600)
    if done.returncode or printed not in done.stdout:
        sys.exit(f"{words}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
    print("passed:", *words[1:], flush=True)


@contextmanager
def served(tbgen: str) -> Iterator[str]:
    """Run a server of the tables, and yield its address."""
    words = [tbgen, "serve", "--port", "0"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, encoding="utf-8") as server:
        assert server.stderr
        line = next(line for line in server.stderr if " at http://" in line)
        yield line.split(" at ")[1].split(",")[0]
        server.terminate()


def check(tbgen: str) -> None:
    """Check everything in a temporary directory."""
    for words, printed in commands(tbgen):
        run([tbgen, *words], printed)
    run([tbgen, "engine"], "bestmove ", f"position fen {BISHOP}\ngo movetime 100\nquit\n")
    with served(tbgen) as address, urlopen(f"{address}/r?fen={quote(BISHOP)}") as answer:
        if b'"G1.5"' not in answer.read():
            sys.exit("tbgen serve: a wrong answer")
    print("passed: serve")


if __name__ == "__main__":
    os.environ.pop("TBGEN_DIR", None)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        os.chdir(place)
        check(sys.argv[1] if len(sys.argv) > 1 else "tbgen")
        os.chdir(ROOT)  # Windows removes no working directory of a process
