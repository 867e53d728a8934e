#!/usr/bin/env python3
"""Check an installed tbgen by the commands of README.md, on any system.

    python scripts/check_install.py [TBGEN]     # the command to check (default: tbgen of the path)

The examples of README.md run in a temporary directory, without a shell and without the package of the clone.
Their output is compared with the output in README.md. If README.md shows no output, the expected results are
stated here. ``tbgen report`` needs the extra ``report``. The check takes some minutes, most of them for
compiling kernels. If a command fails, the check ends with exit code 1 and the output of the command.
"""

import doctest
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, NoReturn
from urllib.parse import quote
from urllib.request import urlopen

ROOT = Path(__file__).parents[1]
BISHOP = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"
MACHINE = re.compile(r"\d+(\.\d+)? (s|KiB|MiB|GiB)\b|\d+ min \d+ s|\btbgen \d+\.\d+\.\d+")
"""Output that depends on the machine, on the version of zlib, or on the version of tbgen."""


class Command(NamedTuple):
    """A command and its expected results."""

    words: tuple[str, ...]
    printed: str
    """A regular expression that has to match a part of the output."""
    written: Mapping[str, str]
    """Regular expressions by file name, each of which has to match a part of the file."""
    sent: str = ""
    """Standard input."""


def other_commands(tbgen: str) -> Iterator[Command]:
    """Yield the commands that README.md shows without output, each after commands that write its input."""
    digest = next(line for line in published_digests() if line.startswith("KBvK ")).split()[-1]
    yield Command(("info", "KBvK"), r"28,056 Black to move", {})
    engine_input = f"uci\nposition fen {BISHOP}\ngo depth 1\nisready\nquit\n"
    yield Command(("engine",), r"(?s)uciok.* G1\.5 in 4 plies, from tables.*bestmove g5h5", {}, engine_input)
    players = [word for name in "AB" for word in ("--engine", f"cmd={tbgen} engine", f"name={name}")]
    yield Command(
        ("match", *players, "--each", "tc=2+0.1", "--rounds", "1", "--pgn", "games.pgn"),
        r"Finished game 2 \(B vs A\): \S+ \{.*, -?m?G\d+\.[05]\}",
        {"games.pgn": r'(?s)\[RMobilityResult .*\[White "B"\].*\[RMobilityResult '},
    )
    yield Command(
        ("report", "KBvK", "KNvK", "--out", "site"),
        r"index\.html: \d+ pages",
        {"site/index.html": "KNvK", "site/tables/KBvK.r.json": digest},
    )
    yield Command(("publish", "set"), r"set: 36 tables, ", {"set/tbgen-set.json": digest})
    yield Command(("fetch", "KBvK", "--from", "set", "--dir", "fetched"), r"2 tables to fetch, ", {})
    yield Command(("export", "flat"), r"flat: 36 tables, .*, 36 written", {"flat/KBvK.r.flat": "^tbgflat\0"})
    yield Command(("completion", "fish"), r"complete .*--command tbgen", {})
    yield Command(("cache",), r".*kernels: [\d.]+ MiB of this version, ", {})


def examples(text: str) -> Iterator[tuple[str, str]]:
    """Yield commands and their output, in which ``...`` stands for any text."""
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for example in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, printed = example.partition("\n")
            yield command, printed


def same(shown: str, printed: str) -> bool:
    """Return whether two outputs are equal, except for times, sizes, versions, white space and omissions."""
    expected, actual = (MACHINE.sub("SOME", text) for text in (shown, printed))
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(expected, actual, flags)


def published_digests() -> list[str]:
    """Return the lines of the list of published tables, with their digests."""
    return (ROOT / "docs" / "tables" / "manifest.r.txt").read_text("utf-8").splitlines()


def fail(words: list[str], output: str) -> NoReturn:
    sys.exit(f"FAILED: {shlex.join(words)}\n{output}")


def run(words: list[str], sent: str = "") -> tuple[str, str]:
    """Run a command to its end, and return its output and errors.

    :raises SystemExit: if it fails.
    """
    done = subprocess.run(words, input=sent.encode(), capture_output=True, timeout=3600)
    output, errors = (stream.decode("utf-8", "replace") for stream in (done.stdout, done.stderr))
    if done.returncode or "Traceback" in errors:
        fail(words, f"exit code {done.returncode}\n{output}{errors}")
    return output, errors


def check_example(tbgen: str, command: str, shown: str) -> None:
    """Run an example of README.md, with copies of the files of the clone that it names.

    If a shell command filters the output in the example, each shown line has to be a line of the output.
    """
    line, piped, _ = command.partition(" | ")
    words = [tbgen, *shlex.split(line)[1:]]
    for word in words[2:]:
        if (ROOT / word).is_file():
            Path(word).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / word, word)
    output, errors = run(words)
    if not (set(shown.splitlines()) <= set(output.splitlines()) if piped else same(shown, output)):
        fail(words, f"shown:\n{shown}\nprinted:\n{output}{errors}")
    print("passed:", line, flush=True)


def check_command(tbgen: str, command: Command) -> None:
    words = [tbgen, *command.words]
    output = "".join(run(words, command.sent))
    if not re.search(command.printed, output):
        fail(words, f"expected in the output: {command.printed}\n{output}")
    for name, content in command.written.items():
        if not re.search(content, Path(name).read_text("latin-1")):
            fail(words, f"expected in {name}: {content}")
    print("passed: tbgen", *command.words, flush=True)


def check_tables(tbgen: str) -> None:
    """Compare the digests of all tables with the published ones, and a fetched file with the original."""
    words = [tbgen, "info", "--manifest"]
    output, errors = run(words)
    built = {line for line in output.splitlines() if line.startswith("K")}
    if len(built) != 36 or not built <= {*published_digests()}:
        fail(words, f"other digests than those of docs/tables:\n{output}{errors}")
    source, fetched = (Path(folder, "KBvK.r.h5").read_bytes() for folder in ("data", "fetched"))
    if source != fetched or hashlib.sha256(source).hexdigest() not in Path("set", "SHA256SUMS").read_text():
        fail([tbgen, "fetch"], "the fetched table differs from the published one")
    print("passed: the digests of all tables", flush=True)


@contextmanager
def running_server(tbgen: str) -> Iterator[str]:
    """Run a server of the tables during the block, and yield its address."""
    words = [tbgen, "serve", "--port", "0"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, encoding="utf-8") as server:
        output = []
        for line in server.stderr or ():
            output.append(line)
            if address := re.search(r"36 tables .* at (http://\S+),", line):
                break
        else:
            fail(words, "".join(output))
        try:
            yield address[1]
        finally:
            server.terminate()


def check_server(tbgen: str) -> None:
    """Ask a server for its page and for a position."""
    with running_server(tbgen) as address:
        with urlopen(f"{address}/") as answer:
            page = answer.read().decode()
        with urlopen(f"{address}/r?fen={quote(BISHOP)}") as answer:
            position: dict[str, Any] = json.load(answer)
    if "</html>" not in page or (position["value"], position["depth"]) != ("G1.5", 4):
        fail([tbgen, "serve"], f"{page}\n{position}")
    print("passed: tbgen serve", flush=True)


def main() -> int:
    name = sys.argv[1] if len(sys.argv) > 1 else "tbgen"
    tbgen = shutil.which(name)
    if tbgen is None:
        sys.exit(f"there is no command {name}: install tbgen, or name the command")
    tbgen = os.path.abspath(tbgen)
    os.environ.pop("TBGEN_DIR", None)
    readme = dict(examples((ROOT / "README.md").read_text("utf-8")))
    build = next(command for command in readme if command.startswith("tbgen build"))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.chdir(folder)
        try:
            for command in (build, *(example for example in readme if example != build)):
                check_example(tbgen, command, readme[command])
            for other in other_commands(tbgen):
                check_command(tbgen, other)
            check_tables(tbgen)
            check_server(tbgen)
        finally:
            os.chdir(ROOT)  # Windows cannot remove the working directory of a process
    return 0


if __name__ == "__main__":
    sys.exit(main())
