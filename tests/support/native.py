"""The C library: compiled by the system's compiler, asked, and what Python answers in its place."""

import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import repeat
from pathlib import Path

import chess
import pytest

from tbgen import Tablebase, TbgenError
from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.exchange.export import export
from tbgen.store.format import table_path
from tests.support.paths import ROOT
from tests.support.random_boards import en_passant_board, random_board
from tests.support.shared import shared

NATIVE = ROOT / "native"
SANITIZED = ("-g", "-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
FAST = ("-O2",)
COMPILERS = ("gcc", "clang", "cc")
MINGW = "x86_64-w64-mingw32-gcc-posix"
COMMON = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror", f"-I{NATIVE}")


@cache
def compiler(options: tuple[str, ...] = (), names: tuple[str, ...] = COMPILERS) -> str:
    """The first of some compilers that is there; the test is skipped if there is none that knows the
    options."""
    for name in names:
        if shutil.which(name):
            command = [name, *options, "-x", "c", "-", "-o", "/dev/null"]
            if subprocess.run(command, input=b"int main(void) {}", capture_output=True).returncode == 0:
                return name
    pytest.skip(f"there is no C compiler with {' '.join(options)}" if options else "there is no C compiler")


@shared
def library(command: str) -> bytes:
    """The library as an object file, by a compiler with options; made once by all processes of the tests."""
    with tempfile.TemporaryDirectory() as folder:
        run(*command.split(), *COMMON, "-c", NATIVE / "tbgen.c", "-o", f"{folder}/tbgen.o")
        return Path(folder, "tbgen.o").read_bytes()


def compiled(
    target: Path,
    source: Path,
    options: tuple[str, ...],
    compilers: tuple[str, ...] = COMPILERS,
    linked: Sequence[str] = (),
) -> Path:
    """A program of one source and the library, by the first of some compilers that is there."""
    command = [compiler(options, compilers), *options]
    made = target.with_suffix(".o")
    made.write_bytes(library(" ".join(command)))
    run(*command, *COMMON, *linked, source, made, "-o", target)
    return target


def for_windows(
    wine: str,
    target: Path,
    source: Path,
    options: tuple[str, ...],
    compilers: tuple[str, ...] = (),
    linked: Sequence[str] = (),
) -> Path:
    """The same by MinGW, as a script that has Wine run it; there are no sanitizers and no other compilers."""
    program, library = target.with_suffix(".exe"), target.with_suffix(".o")
    command = [MINGW, "-O2", *COMMON]
    run(*command, "-c", NATIVE / "tbgen.c", "-o", library)
    run(*command, "-static", *linked, source, library, "-o", program)
    target.write_text(f"#!/bin/sh\n{wine} '{program}' \"$@\"\n")
    target.chmod(0o755)
    return target


def run(*command: str | Path, given: str = "") -> str:
    """Return the output of a program; check that it succeeds without standard error."""
    done = subprocess.run(command, input=given, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout


def exported(tables: Path, target: Path, names: Iterable[str], variant: Variant = Variant.R_MOBILITY) -> Path:
    """A directory with links to some tables in ``tables``, and the flat files of these in ``flat``."""
    (target / "tables").mkdir()
    for name in names:
        path = table_path(tables, name, variant)
        (target / "tables" / path.name).symlink_to(path)
    export(target / "tables", target / "flat", [variant])
    return target


def answers(program: Path, directory: Path, lines: Sequence[str], *options: str) -> list[str]:
    """Return the answers of ``probe`` to lines."""
    return run(program, *options, directory, given="".join(f"{line}\n" for line in lines)).splitlines()


def expected(tables: Tablebase, lines: Sequence[str], moves: bool) -> Iterator[str]:
    """Yield the expected answers of ``probe``, computed in Python; ``error`` for any error."""
    listed = tables.moves_many(lines) if moves else repeat(())
    for result, each in zip(tables.probe_many(lines), listed, strict=False):
        if isinstance(result, TbgenError) or isinstance(each, TbgenError):
            yield "error"
        else:
            after = [f" {m.move.uci()} {m.value} {_depth(m.depth)} {m.accrued}" for m in each]
            yield f"{result.value} {_depth(result.depth)}" + "".join(after)


def _depth(depth: int | None) -> str:
    return "?" if depth is None else str(depth)


def differences(
    program: Path, place: Path, lines: Sequence[str], rules: str = "r", moves: bool = True
) -> list[str]:
    """The lines that C and Python answer differently, both with the tables of :func:`exported`."""
    options = ["--moves"] if moves else []
    found = answers(program, place / "flat", lines, *options, "--rules", rules)
    with Tablebase(place / "tables", rules=rules) as tables:
        wanted = list(expected(tables, lines, moves))
    assert len(found) == len(wanted) == len(lines)
    pairs = zip(lines, found, wanted, strict=True)
    return [
        f"{line}: {c}, not {python}"
        for line, c, python in pairs
        if (c.split(":")[0] if python == "error" else c) != python
    ]


def states(seed: str, count: int, materials: Sequence[str], en_passant: bool = False) -> list[str]:
    """FENs of random states: mates and stalemates too, both colourings, half of them with an accrued score,
    some of these with a halfmove clock of 0, which makes it mean nothing."""
    rng, found = random.Random(seed), []
    for number in range(count):
        if en_passant and number % 10 == 0:
            board = en_passant_board(rng)
        else:
            board = random_board(rng, Material.parse(materials[number % len(materials)]))
        found.append(with_score(rng, board))
    return found


def with_score(rng: random.Random, board: chess.Board) -> str:
    """The FEN of a board, with or without a seventh field."""
    rank = GScore.of_board(board).rank
    board.halfmove_clock = rng.choice([0, 1, 2, 30])
    if rank < 2 or rng.random() < 0.4:
        return board.fen()
    return f"{board.fen()} {GScore(rng.randrange(2, rank + 4), rng.random() < 0.5)}"
