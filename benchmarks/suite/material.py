"""Input of benchmarks: tables, positions and games, the same in every run."""

import functools
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import chess

KEPT = Path(tempfile.gettempdir()) / "tbgen-benchmarks"
"""Directory of tables and games that are kept from run to run."""

PLIES = 120
ENDGAMES = 4
"""One random game of this number ends with four men."""
_PACKING = """
import sys
from pathlib import Path
from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.cli.build import Journal
from tbgen.generator import build
from tbgen.store import format as form

form._MIN_PACKED_MEN = form._PACKED_FROM = 3  # the latter is the name in earlier commits
directory = Path(sys.argv[2])
build(
    [Material.parse(sys.argv[1])],
    directory,
    Journal(directory, quiet=True),
    variant=Variant.R_MOBILITY,
)
"""


def run(*words: str | Path, **options: object) -> "subprocess.CompletedProcess[bytes]":
    """Run a command of tbgen in a separate process.

    :raises RuntimeError: with its output, if it fails.
    """
    command = [sys.executable, "-m", "tbgen", *map(str, words)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **options)  # type: ignore[call-overload]
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
    return done  # type: ignore[no-any-return]


def peak_memory(*words: str | Path) -> int:
    """Run a command of tbgen and return its peak memory in bytes."""
    if sys.platform == "win32":
        raise SystemExit("Windows does not tell how much memory a process held that has ended")
    with subprocess.Popen(
        [sys.executable, "-m", "tbgen", *map(str, words)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{words[0]} failed")
    return used.ru_maxrss << 10


@functools.cache
def compile_kernels() -> None:
    """Compile what the version under test has not compiled yet."""
    with tempfile.TemporaryDirectory() as folder:
        run("build", "KBvK", "--dir", folder)
        run("verify", "--dir", folder)


@functools.cache
def tables() -> Path:
    """Return a directory with all 36 tables: ``$TBGEN_TEST_TABLES``, or one that is made once."""
    if given := os.environ.get("TBGEN_TEST_TABLES"):
        return Path(given)
    directory = KEPT / "tables"
    directory.mkdir(parents=True, exist_ok=True)
    run("build", "--men", "4", "--dir", directory)
    return directory


@functools.cache
def packed(material: str) -> Path:
    """Return a directory with a table and its sub-tables, all packed, made once."""
    from tbgen.store.schema import PACKED

    directory = KEPT / f"packed{PACKED.version}"  # the commits that are compared may have different versions
    directory.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-c", _PACKING, material, directory], check=True)
    return directory


def linked(directory: Path, *left_out: str) -> None:
    """Link all tables but some into a directory."""
    for path in tables().glob("*.r.h5"):
        if path.name.split(".")[0] not in left_out:
            (directory / path.name).symlink_to(path)


def random_boards(material: str, count: int) -> list[chess.Board]:
    """Return random legal positions of a material."""
    rng = random.Random(material)
    white, black = material.split("v")
    men = white + black.lower()
    boards: list[chess.Board] = []
    while len(boards) < count:
        board = chess.Board(None)
        board.turn = rng.random() < 0.5
        for letter, square in zip(men, rng.sample(range(64), len(men)), strict=True):
            board.set_piece_at(square, chess.Piece.from_symbol(letter))
        if not board.status() & ~chess.STATUS_IMPOSSIBLE_CHECK:
            boards.append(board)
    return boards


@functools.cache
def games(count: int) -> Path:
    """Return a PGN file of random games of 120 plies, with comments and tags as engines' games have them.

    One in four ends with four men; all are drawn by adjudication.
    """
    path = KEPT / f"{count}.pgn"
    if not path.exists():
        rng = random.Random(0)
        moves = [_movetext(random.Random(n), n % ENDGAMES == 0) for n in range(200)]
        KEPT.mkdir(parents=True, exist_ok=True)
        aside = path.with_suffix(f".{os.getpid()}")
        with aside.open("w") as file:
            for number in range(count):
                file.write(_game(rng, number, moves[number % len(moves)]))
        aside.rename(path)
    return path


def _movetext(rng: random.Random, endgame: bool) -> str:
    """Return a random game, which loses its men quickly if it must end with four."""
    while True:
        board = chess.Board()
        words = []
        for _ in range(PLIES):
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
                return _wrapped(" ".join([*words, "1/2-1/2"]))


def _wrapped(text: str) -> str:
    """Lines of at most 80 characters."""
    lines = []
    line = ""
    for word in text.split():
        if line and len(line) + len(word) > 79:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".lstrip()
    return "\n".join([*lines, line])


def _game(rng: random.Random, number: int, moves: str) -> str:
    tags = {
        "Event": "Made up",
        "Site": "?",
        "Date": f"2026.01.{number % 28 + 1:02}",
        "Round": str(number + 1),
        "White": f"Engine {number % 7}",
        "Black": f"Engine {rng.randrange(7, 12)}",
        "Result": "1/2-1/2",
        "PlyCount": str(PLIES),
        "Termination": "adjudication",
        "TimeControl": "10+0.1",
    }
    return "".join(f'[{name} "{value}"]\n' for name, value in tags.items()) + f"\n{moves}\n\n"
