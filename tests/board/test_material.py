"""Materials: names, canonical form, build order and successors."""

from random import Random

import chess
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tbgen.board.material import MAX_MEN, Material, all_materials, closure
from tbgen.errors import UsageError
from tests.support.exhaustive import sample
from tests.support.refusals import refusal

ALL = all_materials(MAX_MEN)

materials = st.sampled_from(ALL)


def names(found: list[Material]) -> str:
    return " ".join(material.name for material in found)


def test_numbers_of_materials() -> None:
    assert [len(all_materials(men)) for men in (2, 3, 4, 5)] == [1, 6, 36, 146]
    for men in (1, 6, -4, 10**9):
        assert f"2 to 5 men, kings included, not {men}" in refusal(all_materials, men)


def test_build_order() -> None:
    assert names(all_materials(4)) == (
        "KvK KQvK KRvK KBvK KNvK KPvK "
        "KQQvK KQRvK KQBvK KQNvK KRRvK KRBvK KRNvK KBBvK KBNvK KNNvK "
        "KQvKQ KQvKR KQvKB KQvKN KRvKR KRvKB KRvKN KBvKB KBvKN KNvKN "
        "KQPvK KRPvK KBPvK KNPvK KQvKP KRvKP KBvKP KNvKP "
        "KPPvK KPvKP"
    )


def test_more_men_come_first_then_the_stronger() -> None:
    given = "KPvKNN KQvKRB KRvKQ KvKB KNvKB KPvKN KvKPPP KPvKP"
    canonical = "KNNvKP KRBvKQ KQvKR KBvK KBvKN KNvKP KPPPvK KPvKP"
    assert names([Material.parse(name) for name in given.split()]) == canonical


def test_any_spelling_is_read() -> None:
    """The v may be omitted where the second king begins the other side."""
    random = Random(1)
    for material in ALL:
        sides = [random.sample(side, len(side)) for side in (material.white, material.black)]
        text = "v".join(map("".join, random.sample(sides, 2)))
        short = "".join("K" + "".join(side).replace("K", "") for side in sides)
        for spelling in (text, text.lower(), text.upper(), text.swapcase(), short, short.lower()):
            assert Material.parse(spelling) == material, spelling
    assert Material.parse("K[fw]KN") == Material.parse("KNvK[WF]")


def test_canonical_names_are_their_own_reading() -> None:
    for material in ALL:
        assert Material.parse(material.name) == Material(material.white, material.black) == material, material
        assert str(material) == material.name, material
        assert material.men == len(material.name) - 1, material
        assert material.pawns == material.name.count("P"), material
        assert material.symmetric == (
            material.name in ["KvK", "KQvKQ", "KRvKR", "KBvKB", "KNvKN", "KPvKP"]
        ), material


def test_what_is_wrong_with_a_name_is_said() -> None:
    no_names = ("", "v", "K", "RKPK", "KBKx", "KvKvK", "KB vK", "KvK\n", "KvK.r.h5", "../KvK", "\x00", "KQ-K")
    kings = ("KKvK", "QvK", "KvQ", "NvN", "KBNvKK", "K" * 9999 + "vK")
    many = ("KQQQQvK", "kbnvkrp", "KPPPPPPPPvKPPPPPPPP", "KvK" + "P" * 9999)
    for complaint, texts in (
        ("not a material name", (*no_names, "\N{KELVIN SIGN}vK", "K[WFvK")),
        ("exactly one king", kings),
        ("at most 5", many),
        ("has pawns", ("KP[WF]vK",)),
        ("has 6 men, kings included, and tables have at most 5", ("KQ[WF][WF]vKQ",)),
        ("more moves than tables can count", ("K[QNNCCZZ]vK[QNNCCZZ]",)),
        ("no modifiers", ("K[fW]vK",)),
    ):
        for text in texts:
            assert complaint in refusal(Material.parse, text), text[:20]
    for white, black, complaint in (
        *(("K", "KB", "not canonical"), ("KR", "KQ", "not canonical"), ("KNB", "K", "not canonical")),
        *(("", "K", "one king"), ("kb", "k", "the men are"), ("KB", "K?", "the men are")),
        *(("KK", "K", "one king"), ("KQQQQ", "K", "at most 5")),
    ):
        assert complaint in refusal(Material, white, black), (white, black)


@given(st.text() | st.text(alphabet="KkQqRrBbNnPpVv \n", max_size=12))
def test_a_text_is_a_name_or_refused(text: str) -> None:
    try:
        material = Material.parse(text)
    except UsageError:
        assert refusal(Material.parse, text)
    else:
        assert material in ALL
        assert sorted(text.upper().replace("V", "")) == sorted(material.white + material.black)


def test_order_is_total() -> None:
    for place, one in enumerate(ALL):
        for other in (ALL[place - 1], one, ALL[-1 - place]):
            assert [one < other, one == other, one > other].count(True) == 1, (one, other)
            assert (one <= other) == (not one > other), (one, other)
    name: object = "KvK"
    assert ALL[0] != name
    with pytest.raises(TypeError):
        ALL[0] < name  # noqa: B015


def board_with(white: str, black: str) -> chess.Board:
    board = chess.Board(None)
    for square, man in zip(chess.SQUARES[8:], white + black.lower(), strict=False):
        board.set_piece_at(square, chess.Piece.from_symbol(man))
    return board


def test_material_of_a_board() -> None:
    for material in ALL:
        board = board_with(material.white, material.black)
        assert Material.of_board(board) == (material, False), material
        assert Material.of_board(board.mirror()) == (material, not material.symmetric), material


def test_boards_of_no_material() -> None:
    for fen, complaint in (
        (chess.STARTING_FEN, "32 men"),
        ("8/8/8/4KBk1/8/8/8/QQQ5 b - - 0 1", "6 men"),
        ("8/8/8/4KBQ1/8/8/8/8 b - - 0 1", "one king"),
        ("8/8/8/4KKk1/8/8/8/8 b - - 0 1", "one king"),
        ("8/8/8/8/8/8/8/8 b - - 0 1", "one king"),
    ):
        assert complaint in refusal(Material.of_board, chess.Board(fen)), fen


def test_successors() -> None:
    pieces = "KQvK KRvK KBvK KNvK"
    both = "KQvKR KRvKR KRvKB KRvKN KQvKB KBvKB KBvKN"
    for name, captures, promotions, others in (
        ("KvK", "", "", ""),
        ("KPvK", "KvK", pieces, ""),
        ("KQvKR", "KQvK KRvK", "", ""),
        ("KRvKR", "KRvK", "", ""),
        ("KPvKP", "KPvK", "KQvKP KRvKP KBvKP KNvKP", ""),
        ("KNvKP", "KNvK KPvK", "KQvKN KRvKN KBvKN KNvKN", pieces),
        ("KRBvKP", "KRBvK KRvKP KBvKP", "KRBvKQ KRBvKR KRBvKB KRBvKN", both),
    ):
        material, parts = Material.parse(name), (captures, promotions, others)
        taken, promoted, rest = ({Material.parse(other) for other in part.split()} for part in parts)
        assert material.captures() == taken, name
        assert material.promotions() == promoted, name
        assert material.successors() == taken | promoted | rest, name


def crowded_board(material: Material, random: Random) -> chess.Board:
    """Place the men at random on the three files of one wing, where they soon meet."""
    board = chess.Board(None)
    free = set(chess.SquareSet(chess.BB_FILE_A | chess.BB_FILE_B | chess.BB_FILE_C))
    for man in "".join(reversed(material.white)) + "".join(reversed(material.black)).lower():
        ranks = range(1, 7) if man in "Pp" else range(8)
        square = random.choice([square for square in sorted(free) if chess.square_rank(square) in ranks])
        free.remove(square)
        board.set_piece_at(square, chess.Piece.from_symbol(man))
    board.turn = random.choice(chess.COLORS)
    return board


def test_successors_are_what_moves_on_a_board_lead_to() -> None:
    for material in ALL[:36] + ALL[36 :: sample(5, 1)]:
        random = Random(material.name)
        successors = material.successors()
        assert all(successor < material for successor in successors), material
        unseen = set(successors)
        for _ in range(10_000):
            board = crowded_board(material, random)
            for move in board.pseudo_legal_moves:
                captured = board.piece_type_at(move.to_square)
                if captured != chess.KING and (captured or move.promotion):
                    after = board.copy(stack=False)
                    after.push(move)
                    left, _ = Material.of_board(after)
                    assert left in successors, material
                    unseen.discard(left)
            if not unseen:
                break
        assert not unseen, material


def test_closures() -> None:
    assert names(closure([Material.parse("KBNvK")])) == "KvK KBvK KNvK KBNvK"
    assert names(closure([Material.parse("KNvKP")])) == (
        "KvK KQvK KRvK KBvK KNvK KPvK KQvKN KRvKN KBvKN KNvKN KNvKP"
    )
    assert names(closure([Material.parse("KRvK[R]")])) == "KvK KRvK K[R]vK KRvK[R]"
    assert closure([]) == []
    assert closure(ALL) == closure(reversed(ALL)) == ALL


@given(st.lists(materials, max_size=4))
@settings(max_examples=sample(20, 100))
def test_closure_is_complete_and_in_build_order(wanted: list[Material]) -> None:
    found = closure(wanted)
    assert set(wanted) <= set(found)
    assert len(found) == len(set(found))
    for place, material in enumerate(found):
        assert material.successors() <= set(found[:place])
        assert all(successor.men == material.men - 1 for successor in material.captures()), material
        assert all(successor.pawns == material.pawns - 1 for successor in material.promotions()), material
    assert set(wanted).union(*(material.successors() for material in found)) == set(found)


def test_described_men_come_last_and_by_their_letters() -> None:
    for text, name, men in (
        ("K[WF]vKQ", "KQvK[WF]", 4),
        ("kvk[dw]", "K[WD]vK", 3),
        ("K[BDD]vKB", "KBvK[BDD]", 4),
        ("K[WF]NvK", "KN[WF]vK", 4),
        ("K[N][RN]vK", "K[RN][N]vK", 4),
        ("K[D]vK[QA]", "K[QA]vK[D]", 4),
    ):
        material = Material.parse(text)
        assert (material.name, material.men, material.is_described) == (name, men, True)
        assert Material.parse(name) == material


def test_a_capture_takes_a_described_man_as_a_whole() -> None:
    assert names(sorted(Material.parse("KB[BD]vK").successors())) == "KBvK K[BD]vK"
