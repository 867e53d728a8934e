"""Whole commands, each in a separate process, its start included: seconds of wall time.

They use only the command line of tbgen, so that versions with other modules can be compared.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from suite.material import compile_kernels, games, linked, peak_memory, random_boards, run, tables

FEN = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"


class Command:
    """One call per measurement, in a fresh directory."""

    number = 1
    repeat = (2, 5, 20.0)
    warmup_time = 0
    rounds = 2

    def setup(self, *_: Any) -> None:
        compile_kernels()
        self.directory = Path(tempfile.mkdtemp())

    def teardown(self, *_: Any) -> None:
        shutil.rmtree(self.directory)


class Start(Command):
    """The minimum time of any command."""

    def time_version(self) -> None:
        run("--version")

    def time_help(self) -> None:
        run("build", "--help")


class BuildTable(Command):
    """One table from its sub-tables."""

    params = ("KBvK", "KPvK", "KBNvK", "KRvKR", "KRPvK", "KPvKP")
    param_names = ("material",)

    def setup(self, material: str) -> None:
        super().setup()
        linked(self.directory, material)

    def time_build(self, material: str) -> None:
        run("build", material, "--dir", self.directory)

    def track_peak_memory(self, material: str) -> int:
        return peak_memory("build", material, "--dir", self.directory)

    track_peak_memory.unit = "bytes"  # type: ignore[attr-defined]


class BuildAll(Command):
    """All 36 tables."""

    params = ("r", "wg")
    param_names = ("rules",)
    repeat = (1, 1, 0.0)
    timeout = 1800

    def time_build(self, rules: str) -> None:
        run("build", "--men", "4", "--rules", rules, "--dir", self.directory)


class Verify(Command):
    """A table and its sub-tables."""

    params = ("KRvKR", "KPvKP")
    param_names = ("material",)

    def time_verify(self, material: str) -> None:
        run("verify", material, "--dir", tables())


class Probe(Command):
    """Positions passed to the command."""

    def setup(self) -> None:
        super().setup()
        fens = [f"{board.fen()}\n" for board in random_boards("KBNvK", 20_000)]
        self.few, self.many = self.directory / "few", self.directory / "many"
        self.few.write_text("".join(fens[:1000]))
        self.many.write_text("".join(fens))

    def time_one(self) -> None:
        run("probe", FEN, "--dir", tables())

    def time_line(self) -> None:
        run("probe", FEN, "--line", "--dir", tables())

    def time_1000_with_moves(self) -> None:
        with self.few.open("rb") as stream:
            run("probe", "-", "--dir", tables(), stdin=stream)

    def time_20000_without_moves(self) -> None:
        with self.many.open("rb") as stream:
            run("probe", "-", "--no-moves", "--dir", tables(), stdin=stream)


class Tag(Command):
    """1,000 games of 120 plies."""

    params = (1, 2)
    param_names = ("jobs",)

    def time_tag(self, jobs: int) -> None:
        run("tag", games(1000), self.directory / "tagged.pgn", "--jobs", str(jobs), "--dir", tables())


class Judge(Command):
    """Standings of tagged games, and the adjudication of games one by one."""

    def setup(self) -> None:
        super().setup()
        self.tagged = self.directory / "tagged.pgn"
        run("tag", games(1000), self.tagged, "--dir", tables())

    def time_score(self) -> None:
        run("score", self.tagged)

    def time_adjudicate_100(self) -> None:
        run("adjudicate", games(100), "--dir", tables())


class Report(Command):
    """The site about one table."""

    timeout = 900

    def time_report(self) -> None:
        run("report", "KRvKR", "--rules", "r", "--out", self.directory / "site", "--dir", tables())


class Info(Command):
    """The facts of tables."""

    def time_manifest(self) -> None:
        run("info", "--manifest", "--dir", tables())
