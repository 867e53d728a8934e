"""The C library answers what Python answers, and stays within its memory: it is built with the sanitizers."""

import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tbgen.board.material import all_materials
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.store.format import table_path
from tests.native.conftest import FOUR, PACKED, THREE, Build
from tests.support.exhaustive import exhaustive, sample
from tests.support.native import (
    SANITIZED,
    answers,
    differences,
    exported,
    run,
    states,
    with_score,
)
from tests.support.packed_tables import PackedTables
from tests.support.paths import rows
from tests.support.random_boards import en_passant_board, random_board

BISHOP = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"
MATED = "8/8/8/8/8/5K2/6Q1/7k b - - 0 1"


def test_published_values(probe: Path, three: Path) -> None:
    """Of docs/theory.md and README.md."""
    pawn = "8/8/5k1K/5P2/8/8/8/8 w - -"
    asked = [BISHOP, "8/8/8/2K3k1/8/8/8/8 w - - 0 1", f"{pawn} 1 60 -G2.5", "8/8/8/8/8/8/8/2K1B1k1 w - - 0 1"]
    assert answers(probe, three / "flat", asked) == ["G1.5 4", "-G8.5 0", "-G3.5 4", "G0.5 17"]


@pytest.mark.filterwarnings("ignore:the seventh field")
@pytest.mark.parametrize(
    ("place", "names", "least", "full"),
    [
        ("three", THREE, 200, 10_000),
        ("few", ("KPvK", "KPvKP"), 120, 10_000),
        *exhaustive([("some_packed", PACKED, 0, 10_000), ("four", FOUR[6:], 0, 20_000)]),
    ],
)
def test_states_and_their_moves(
    place: str, names: tuple[str, ...], least: int, full: int, probe: Path, request: pytest.FixtureRequest
) -> None:
    """Where a move leads to a table that is missing, both say so."""
    asked = states(place, sample(least, full), names, en_passant="KPvKP" in names)
    assert differences(probe, request.getfixturevalue(place), asked) == []


def test_states_of_whole_game_mobility(
    probe: Path, packed: PackedTables, whole_game_tables: Path, tmp_path: Path
) -> None:
    variant = Variant.WHOLE_GAME
    (mixed := tmp_path / "mixed").mkdir()
    for name in THREE:
        path = packed(name, variant) if name == "KNvK" else table_path(whole_game_tables, name, variant)
        (mixed / path.name).symlink_to(path)
    place = exported(mixed, tmp_path, THREE, variant)
    assert differences(probe, place, states("whole", sample(100, 10_000), THREE), "wg") == []


@pytest.mark.filterwarnings("ignore:the seventh field")
def test_en_passant_rights_that_are_no_captures_or_reset_the_score(probe: Path, few: Path) -> None:
    rng = random.Random("passing")
    asked = [with_score(rng, en_passant_board(rng)) for _ in range(sample(20, 60))]
    asked += [fen.replace(" 0 1", " 3 1 -G2.0") for fen in asked]
    asked += ["8/8/8/8/3Pp3/8/8/K6k b - d3 0 1", "8/8/8/8/3P4/8/8/K6k b - d3 0 1"]
    assert differences(probe, few, asked, moves=False) == []


def test_a_peek_gives_the_value_or_gives_up(probe: Path, few: Path) -> None:
    """Plain tables state all values, the packed table of a pawn those of one side to move."""
    asked = states("peek", sample(200, 5000), THREE)
    found = answers(probe, few / "flat", asked, "--peek")
    wanted = [answer.split()[0] for answer in answers(probe, few / "flat", asked)]
    given_up = {fen for fen, answer in zip(asked, found, strict=True) if answer == "?"}
    assert all(answer in ("?", right) for answer, right in zip(found, wanted, strict=True))
    pawns = {fen for fen in asked if "p" in fen.split()[0].lower()}
    assert given_up < pawns
    assert len({fen.split()[1] == "w" for fen in given_up}) == 2  # White or Black may have the pawn


def test_a_probe_allocates_nothing(build: Build, few: Path, tmp_path: Path) -> None:
    wrapped = [f"-Wl,--wrap={name}" for name in ("malloc", "calloc", "realloc")]
    source = Path(__file__).with_name("allocations.c")
    program = build(tmp_path / "allocations", source, ("-O0",), linked=wrapped)
    asked = states("allocations", 100, [*THREE, "KPvKP"])
    answered, during = map(int, run(program, few / "flat", given="\n".join(asked)).split())
    assert during == 0
    assert answered > len(asked) / 2


def test_what_has_no_value_is_an_error(probe: Path, three: Path) -> None:
    cases = rows("refused_in_c.txt", " -> ")
    told = answers(probe, three / "flat", [fen for fen, _ in cases])
    for (fen, words), sentence in zip(cases, told, strict=True):
        assert sentence.startswith("error: "), fen
        assert words in sentence, fen


def test_the_table_that_is_missing_is_named(probe: Path, three: Path) -> None:
    """As its file is, whichever side has its men; afterwards a FEN that is none has no name."""
    rng, asked, names = random.Random("names"), [], []
    for material in all_materials(5):
        if len(material.name) > 4:
            while not any((board := random_board(rng, material)).legal_moves):  # mates need no table
                pass
            asked.append((board if rng.random() < 0.5 else board.mirror()).fen())
            names.append(material.name)
    told = answers(probe, three / "flat", [fen for each in asked for fen in (each, "none")])
    assert told[1::2] == ["error: the text is not a FEN of two to seven fields that can be read"] * len(names)
    assert told[::2] == [
        f"error: {name}: a table that this takes is missing: build it, and write it with tbgen export"
        for name in names
    ]


def test_a_table_that_the_one_asked_rests_on_is_named(
    probe: Path, three: Path, few: Path, tmp_path: Path
) -> None:
    """White's positions of a packed KPvK follow from others, and so does a list of moves."""
    promoting, queen = "8/P7/8/8/8/8/8/K1k5 w - - 0 1", "8/8/8/8/3Q4/8/8/K3k3 w - - 0 1"
    shutil.copy(few / "flat" / "KPvK.r.flat", tmp_path)
    assert re.match("error: K[QRBN]vK: .* missing", answers(probe, tmp_path, [promoting])[0])
    data = bytearray((three / "flat" / "KQvK.r.flat").read_bytes())
    data[9] ^= 1
    (tmp_path / "KQvK.r.flat").write_bytes(data)
    found = answers(probe, tmp_path, [promoting, queen])
    assert re.match("error: K([RBN]vK: .*missing|QvK: .*damaged)", found[0])
    assert found[1].startswith("error: KQvK: a table that this takes is damaged")
    shutil.copy(three / "flat" / "KPvK.r.flat", tmp_path)
    assert answers(probe, tmp_path, [promoting])[0].startswith("G0.0 ")
    assert re.match("error: K[QRBN]vK: ", answers(probe, tmp_path, [promoting], "--moves")[0])


def test_its_words(probe: Path, tmp_path: Path) -> None:
    for words, code, sentence in (
        (["--help"], 0, "usage: probe "),
        (["--rules", "foo", "flat"], 2, "usage: probe "),
        (["--what", "flat"], 2, "usage: probe "),
        ([], 2, "usage: probe "),
        ([tmp_path], 1, "tbgen export"),
        ([tmp_path / "none"], 1, "cannot be read"),
    ):
        done = subprocess.run([probe, *words], input="", capture_output=True, text=True)
        assert done.returncode == code
        assert sentence in (done.stderr if code else done.stdout)
        assert not (done.stdout if code else done.stderr)


def test_scores(build: Build, three: Path, tmp_path: Path) -> None:
    """They are in the order of :class:`GScore`, from White's view.

    A probe and a list of moves refuse the same ones, and ignore them where no score counts.
    """
    scores = [GScore(rank, white) for rank in (0, 1, 2, 7, 8, 1999) for white in (True, False)]
    program = build(tmp_path / "scores", Path(__file__).with_name("scores.c"), SANITIZED)
    for fen, codes in ((BISHOP, ["88"] * 2 + ["00"] * 3 + ["77"] * 4), (MATED, ["00"] * 9)):
        order, count, told = run(program, three / "flat", fen).splitlines()
        count, *written = count.split()
        assert written == ["fresh", "-G0.5", "G1.0", "G999.5", "-G999.5", *["none"] * 4]
        assert list(map(int, order.split())) == [
            (one > other) - (one < other) for one in scores for other in scores
        ]
        assert (int(count), told.split()) == (len(THREE), codes)
