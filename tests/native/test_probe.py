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
from tests.native.conftest import FOUR, PACKED, THREE
from tests.support.exhaustive import sample
from tests.support.native import FAST, SANITIZED, answers, compiled, differences, exported, states, with_score
from tests.support.packed_tables import PackedTables
from tests.support.random_boards import en_passant_board, random_board

BISHOP = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"
MATED = "8/8/8/8/8/5K2/6Q1/7k b - - 0 1"


def test_published_values(probe: Path, three: Path) -> None:
    """Of docs/theory.md and README.md."""
    pawn = "8/8/5k1K/5P2/8/8/8/8 w - -"
    asked = [BISHOP, "8/8/8/2K3k1/8/8/8/8 w - - 0 1", f"{pawn} 1 60 -G2.5", "8/8/8/8/8/8/8/2K1B1k1 w - - 0 1"]
    assert answers(probe, three / "flat", asked) == ["G1.5 4", "-G8.5 0", "-G3.5 4", "G0.5 17"]


def test_states_of_three_men(probe: Path, three: Path) -> None:
    assert differences(probe, three, states("three", sample(400, 10000), THREE)) == []


def test_states_of_four_men(probe: Path, four: Path) -> None:
    """Where a move leads to a table that is missing, both say so."""
    asked = states("four", sample(1500, 40000), FOUR[6:], en_passant=True)
    assert differences(probe, four, asked, moves=False) == []
    assert differences(probe, four, asked[: len(asked) // 3]) == []


def test_states_of_packed_tables(probe: Path, some_packed: Path) -> None:
    asked = states("packed", sample(400, 10000), PACKED, en_passant=True)
    assert differences(probe, some_packed, asked) == []


def test_states_of_whole_game_mobility(
    probe: Path, packed: PackedTables, whole_game_tables: Path, tmp_path: Path
) -> None:
    names, variant = (*THREE, "KPvKP"), Variant.WHOLE_GAME
    (mixed := tmp_path / "mixed").mkdir()
    for name in names:
        path = packed(name, variant) if name == "KNvK" else table_path(whole_game_tables, name, variant)
        (mixed / path.name).symlink_to(path)
    place = exported(mixed, tmp_path, names, variant)
    asked = states("whole", sample(300, 10000), names, en_passant=True)
    assert differences(probe, place, asked, "wg", moves=False) == []
    assert differences(probe, place, states("whole", 200, THREE), "wg") == []


def test_en_passant_rights_that_are_no_captures_or_reset_the_score(probe: Path, four: Path) -> None:
    rng = random.Random("passing")
    boards = [en_passant_board(rng) for _ in range(60)]
    asked = [with_score(rng, board) for board in boards]
    asked += [fen.replace(" 0 1", " 3 1 -G2.0") for fen in asked]
    asked += [
        "8/8/8/8/3Pp3/8/8/K6k b - d3 0 1",
        "8/8/8/8/k2Pp2R/8/8/K7 b - d3 0 1",
        "8/8/8/8/3P4/8/8/K6k b - d3 0 1",
    ]
    assert differences(probe, four, asked, moves=False) == []


def test_a_probe_allocates_nothing(some_packed: Path, tmp_path: Path) -> None:
    wrapped = [f"-Wl,--wrap={name}" for name in ("malloc", "calloc", "realloc")]
    source = Path(__file__).with_name("allocations.c")
    program = compiled(tmp_path / "allocations", source, [*FAST, *wrapped])
    asked = states("allocations", 300, [*THREE, "KBvKN", "KPvKP"])
    done = subprocess.run(
        [program, some_packed / "flat"], input="\n".join(asked), capture_output=True, text=True
    )
    answered, during = map(int, done.stdout.split())
    assert done.returncode == during == 0
    assert answered > len(asked) / 2


@pytest.mark.parametrize(
    ("fen", "words"),
    [
        ("", "not a FEN"),
        ("8/8/8/4KBk1/8/8/8/8", "not a FEN"),
        ("8/8/8/4KBk1/8/8/8 w - - 0 1", "not a FEN"),
        ("8/8/8/4KBk11/8/8/8/8 w - - 0 1", "not a FEN"),
        ("8/8/8/44KBk1/8/8/8/8 w - - 0 1", "not a FEN"),
        ("8/8/8/8/4KBk1/8/8/8/8 w - - 0 1", "not a FEN"),
        ("8/8/8/4KXk1/8/8/8/8 w - - 0 1", "not a FEN"),
        ("8/8/8/4KBk1/8/8/8/8 x - - 0 1", "not a FEN"),
        ("8/8/8/4KBk1/8/8/8/8 b z - 0 1", "not a FEN"),
        ("8/8/8/4KBk1/8/8/8/8 b - e9 0 1", "not a FEN"),
        ("8/8/8/4KBk1/8/8/8/8 b - - x 1", "not a FEN"),
        ("8/8/8/4KBk1/8/8/8/8 b - - 1 1 G3.5 G3.5", "not a FEN"),
        ("8/8/8/4KBk1/8/8/8/8 b - - 1 1 3.5", "not a G-score"),
        ("8/8/8/4KBk1/8/8/8/8 b - - 1 1 G3.7", "not a G-score"),
        ("8/8/8/4KBk1/8/8/8/8 b - - 1 1 G1000.0", "not a G-score"),
        ("8/8/8/4KBk1/8/8/8/8 b - - 1 1 G0.5", "ends the game"),
        ("8/8/8/4KBk1/8/8/8/QQQQ4 b - - 0 1", "more than five men"),
        ("8/8/8/5Bk1/8/8/8/8 b - - 0 1", "exactly one king"),
        ("P7/8/8/4K1k1/8/8/8/8 b - - 0 1", "first or last rank"),
        ("8/8/8/4KBk1/8/8/8/6R1 w - - 0 1", "in check"),
        ("8/8/8/4Kk2/8/8/8/8 w - - 0 1", "in check"),
        ("8/8/8/4KBk1/8/8/8/8 b - d3 0 1", "en passant"),
        ("8/8/8/8/8/8/6k1/4K2R w K - 0 1", "castling"),
        ("8/8/8/8/8/6k1/4K3/7R w K - 0 1", "castling"),
        ("8/8/8/4KBk1/8/8/8/Q7 b - - 0 1", "KQBvK: a table that this takes is missing"),
    ],
)
def test_what_has_no_value_is_an_error(fen: str, words: str, probe: Path, three: Path) -> None:
    (sentence,) = answers(probe, three / "flat", [fen])
    assert sentence.startswith("error: ")
    assert words in sentence


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
    probe: Path, three: Path, some_packed: Path, tmp_path: Path
) -> None:
    """White's positions of KPvKP follow from what moves lead to; a list of moves has others' values."""
    for source, name in ((some_packed, "KPvKP"), (three, "KPvK")):
        shutil.copy(source / "flat" / f"{name}.r.flat", tmp_path)
    (sentence,) = answers(probe, tmp_path, ["8/P7/8/8/8/8/7p/K1k5 w - - 0 1"])
    assert re.match("error: K[QRBN]vKP: a table that this takes is missing", sentence)
    promoting = "8/P7/8/8/8/8/8/K1k5 w - - 0 1"
    assert answers(probe, tmp_path, [promoting])[0].startswith("G0.0 ")
    assert re.match("error: K[QRBN]vK: ", answers(probe, tmp_path, [promoting], "--moves")[0])
    shutil.copy(some_packed / "flat" / "KQvKP.r.flat", tmp_path / "KQvKP.r.flat")
    data = bytearray((tmp_path / "KQvKP.r.flat").read_bytes())
    data[9] ^= 1
    (tmp_path / "KQvKP.r.flat").write_bytes(data)
    found = answers(probe, tmp_path, ["8/P7/8/8/8/8/7p/K1k5 w - - 0 1", "8/8/8/8/3Q4/8/7p/K3k3 w - - 0 1"])
    assert re.match("error: K([RBN]vKP: .*missing|QvKP: .*damaged)", found[0])
    assert found[1].startswith("error: KQvKP: a table that this takes is damaged")


def test_its_words(probe: Path) -> None:
    for words, code in ((["--help"], 0), (["--rules", "foo", "flat"], 2), (["--what", "flat"], 2), ([], 2)):
        done = subprocess.run([probe, *words], input="", capture_output=True, text=True)
        assert done.returncode == code
        assert (done.stderr if code else done.stdout).startswith("usage: probe ")
        assert not (done.stdout if code else done.stderr)


def test_a_directory_without_flat_files(probe: Path, tmp_path: Path) -> None:
    for place, words in ((tmp_path, "tbgen export"), (tmp_path / "none", "cannot be read")):
        done = subprocess.run([probe, place], input="", capture_output=True, text=True)
        assert done.returncode == 1
        assert words in done.stderr


@pytest.mark.slow
@pytest.mark.exhaustive
def test_two_hundred_thousand_states(fast_probe: Path, tables: Path, tmp_path: Path) -> None:
    names = sorted(path.name.split(".")[0] for path in tables.glob("*.r.h5"))
    place = exported(tables, tmp_path, names)
    assert differences(fast_probe, place, states("many", 200_000, names, en_passant=True)) == []


def test_the_order_of_scores(tmp_path: Path) -> None:
    """That of :class:`GScore`, from White's view."""
    scores = [GScore(rank, white) for rank in (0, 1, 2, 7, 8, 1999) for white in (True, False)]
    numbers = [score.rank if score.white else -1 - score.rank for score in scores]
    listed = ", ".join(map(str, numbers))
    (tmp_path / "main.c").write_text(
        '#include "tbgen.h"\n#include <stdio.h>\n'
        "int main(void) {\n"
        f"    const tbgen_score scores[] = {{{listed}}};\n"
        f"    for (int one = 0; one < {len(numbers)}; one++)\n"
        f"        for (int other = 0; other < {len(numbers)}; other++) {{\n"
        "            int better = tbgen_compare(scores[one], scores[other]);\n"
        '            printf("%d ", (better > 0) - (better < 0));\n'
        "        }\n"
        "}\n"
    )
    program = compiled(tmp_path / "main", tmp_path / "main.c", SANITIZED)
    told = subprocess.run([program], capture_output=True, text=True).stdout.split()
    assert list(map(int, told)) == [(one > other) - (one < other) for one in scores for other in scores]


def test_scores_that_no_state_has(three: Path, tmp_path: Path) -> None:
    """A probe and a list of moves refuse the same ones, and ignore them where no score counts."""
    (tmp_path / "main.c").write_text(
        '#include "tbgen.h"\n#include <limits.h>\n#include <stdio.h>\n'
        "int main(int count, char *arguments[]) {\n"
        "    struct tbgen *tables;\n"
        "    if (tbgen_open(arguments[count - 2], TBGEN_R_MOBILITY, &tables)) return 1;\n"
        "    struct tbgen_room *room = tbgen_room_open(tables);\n"
        "    struct tbgen_position position;\n"
        "    struct tbgen_result result;\n"
        "    struct tbgen_move moves[TBGEN_MOST_MOVES];\n"
        "    const tbgen_score scores[] = {0, -2, 2, 1999, -2000, 2000, -2001, INT_MAX, INT_MIN};\n"
        "    tbgen_score unused;\n"
        "    int found;\n"
        "    if (!room || tbgen_read_fen(arguments[count - 1], 0, &position, &unused)) return 1;\n"
        "    for (int at = 0; at < 9; at++)\n"
        '        printf("%u%u ", tbgen_probe(room, &position, scores[at], &result),\n'
        "            tbgen_moves(room, &position, scores[at], moves, &found));\n"
        "    tbgen_room_close(room);\n"
        "    tbgen_close(tables);\n"
        "}\n"
    )
    program = compiled(tmp_path / "main", tmp_path / "main.c", SANITIZED)
    for fen, codes in ((BISHOP, ("88",) * 2 + ("00",) * 3 + ("77",) * 4), (MATED, ("00",) * 9)):
        told = subprocess.run([program, three / "flat", fen], capture_output=True, text=True)
        assert (told.stderr, tuple(told.stdout.split())) == ("", codes)
