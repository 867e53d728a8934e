"""Materials: names, the canonical form, build order and what a move can turn them into."""

import pickle
from random import Random

import chess
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tbgen.board.material import MAX_MEN, Material, all_materials, closure
from tbgen.errors import UsageError

ALL = all_materials(MAX_MEN)

materials = st.sampled_from(ALL)


def names(found: list[Material]) -> str:
    return " ".join(material.name for material in found)


def test_numbers_of_materials() -> None:
    assert [len(all_materials(men)) for men in (2, 3, 4, 5)] == [1, 6, 36, 146]


def test_three_men_in_build_order() -> None:
    assert names(all_materials(3)) == "KvK KQvK KRvK KBvK KNvK KPvK"


def test_four_men_in_build_order() -> None:
    assert names(all_materials(4)[6:]) == (
        "KQQvK KQRvK KQBvK KQNvK KRRvK KRBvK KRNvK KBBvK KBNvK KNNvK "
        "KQvKQ KQvKR KQvKB KQvKN KRvKR KRvKB KRvKN KBvKB KBvKN KNvKN "
        "KQPvK KRPvK KBPvK KNPvK KQvKP KRvKP KBvKP KNvKP "
        "KPPvK KPvKP"
    )


@pytest.mark.parametrize("men", [1, 6, -4, 10**9])
def test_number_of_men_is_bounded(men: int) -> None:
    with pytest.raises(UsageError, match=f"2 to 5 men, kings included, not {men}"):
        all_materials(men)


def test_more_men_come_first_then_the_stronger() -> None:
    given = "KPvKNN KQvKRB KRvKQ KvKB KNvKB KPvKN KvKPPP KPvKP"
    canonical = "KNNvKP KRBvKQ KQvKR KBvK KBvKN KNvKP KPPPvK KPvKP"
    assert names([Material.parse(name) for name in given.split()]) == canonical


@given(materials, st.booleans(), st.randoms(use_true_random=False))
def test_parse_reads_any_spelling(material: Material, swap: bool, random: Random) -> None:
    sides = [list(material.white), list(material.black)]
    for side in sides:
        random.shuffle(side)
    text = "v".join("".join(side) for side in (reversed(sides) if swap else sides))
    for spelling in (text, text.lower(), text.upper(), text.swapcase()):
        assert Material.parse(spelling) == material


@pytest.mark.parametrize("name", ["KvKB", "kbvk", "KBvK", "KVKB", "bkvk"])
def test_spellings_of_one_material(name: str) -> None:
    assert Material.parse(name) == Material("KB", "K")


def test_canonical_names_are_their_own_reading() -> None:
    for material in ALL:
        assert Material.parse(material.name) == Material(material.white, material.black) == material, material
        assert str(material) == material.name, material
        assert material.men == len(material.name) - 1, material
        assert material.pawns == material.name.count("P"), material
        assert material.symmetric == (
            material.name in ["KvK", "KQvKQ", "KRvKR", "KBvKB", "KNvKN", "KPvKP"]
        ), material
        assert pickle.loads(pickle.dumps(material)) == material, material


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        *(
            (text, "not a material name")
            for text in ("", "v", "K", "KBK", "KBvKx", "KvKvK", "KB vK", "KvK\n")
        ),
        *(
            (text, "not a material name")
            for text in ("\N{KELVIN SIGN}vK", "KvK.r.h5", "../KvK", "\x00", "KQ-K")
        ),
        *((text, "exactly one king") for text in ("KKvK", "QvK", "KvQ", "NvN", "KBNvKK", "K" * 99999 + "vK")),
        *((text, "at most 5") for text in ("KQQQQvK", "kbnvkrp", "KPPPPPPPPvKPPPPPPPP", "KvK" + "P" * 99999)),
    ],
)
def test_parse_says_what_is_wrong(text: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint) as caught:
        Material.parse(text)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 250


@given(st.text() | st.text(alphabet="KkQqRrBbNnPpVv \n", max_size=12))
def test_parse_raises_nothing_but_usage_errors(text: str) -> None:
    try:
        material = Material.parse(text)
    except UsageError as error:
        assert str(error).isprintable() and len(str(error)) < 250  # noqa: PT017, PT018
    else:
        assert material in ALL
        assert sorted(text.upper()) == sorted(material.name.upper())


@pytest.mark.parametrize(
    ("white", "black", "complaint"),
    [
        *(("K", "KB", "not canonical"), ("KR", "KQ", "not canonical"), ("KNB", "K", "not canonical")),
        *(("", "K", "one king"), ("kb", "k", "the men are"), ("KB", "K?", "the men are")),
        *(("KK", "K", "one king"), ("KQQQQ", "K", "at most 5")),
    ],
)
def test_constructor_takes_the_canonical_form_only(white: str, black: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        Material(white, black)


@given(materials, materials)
def test_order_is_total(one: Material, other: Material) -> None:
    assert [one < other, one == other, one > other].count(True) == 1
    assert (one <= other) == (not one > other)


def test_materials_compare_with_nothing_else() -> None:
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


@pytest.mark.parametrize(
    ("fen", "complaint"),
    [
        (chess.STARTING_FEN, "32 men"),
        ("8/8/8/4KBk1/8/8/8/QQQ5 b - - 0 1", "6 men"),
        ("8/8/8/4KBQ1/8/8/8/8 b - - 0 1", "one king"),
        ("8/8/8/4KKk1/8/8/8/8 b - - 0 1", "one king"),
        ("8/8/8/8/8/8/8/8 b - - 0 1", "one king"),
    ],
)
def test_boards_of_no_material(fen: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        Material.of_board(chess.Board(fen))


@pytest.mark.parametrize(
    ("name", "captures", "promotions", "both"),
    [
        ("KvK", "", "", ""),
        ("KPvK", "KvK", "KQvK KRvK KBvK KNvK", ""),
        ("KQvKR", "KQvK KRvK", "", ""),
        ("KRvKR", "KRvK", "", ""),
        ("KPvKP", "KPvK", "KQvKP KRvKP KBvKP KNvKP", ""),
        ("KNvKP", "KNvK KPvK", "KQvKN KRvKN KBvKN KNvKN", "KQvK KRvK KBvK KNvK"),
        (
            "KRBvKP",
            "KRBvK KRvKP KBvKP",
            "KRBvKQ KRBvKR KRBvKB KRBvKN",
            "KQvKR KRvKR KRvKB KRvKN KQvKB KBvKB KBvKN",
        ),
    ],
)
def test_successors(name: str, captures: str, promotions: str, both: str) -> None:
    material = Material.parse(name)

    def parsed(text: str) -> set[Material]:
        return {Material.parse(other) for other in text.split()}

    assert material.captures() == parsed(captures)
    assert material.promotions() == parsed(promotions)
    assert material.successors() == parsed(captures) | parsed(promotions) | parsed(both)


def test_successors_come_before() -> None:
    for material in ALL:
        assert all(successor < material for successor in material.successors()), material
        assert all(successor.men == material.men - 1 for successor in material.captures()), material
        assert all(successor.pawns == material.pawns - 1 for successor in material.promotions()), material


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
    for material in ALL:
        random = Random(material.name)
        successors = material.successors()
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


def test_closure_of_one_material() -> None:
    assert names(closure([Material.parse("KBNvK")])) == "KvK KBvK KNvK KBNvK"
    assert names(closure([Material.parse("KNvKP")])) == (
        "KvK KQvK KRvK KBvK KNvK KPvK KQvKN KRvKN KBvKN KNvKN KNvKP"
    )


def test_closure_of_nothing() -> None:
    assert closure([]) == []


def test_closure_of_everything() -> None:
    assert closure(ALL) == ALL
    assert closure(reversed(ALL)) == ALL


@given(st.lists(materials, max_size=4))
def test_closure_is_complete_and_in_build_order(wanted: list[Material]) -> None:
    found = closure(wanted)
    assert set(wanted) <= set(found)
    assert len(found) == len(set(found))
    for place, material in enumerate(found):
        assert material.successors() <= set(found[:place])
    reached = set(wanted).union(*(material.successors() for material in found))
    assert reached == set(found)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("K[WF]vKQ", "KQvK[WF]"),
        ("kvk[dw]", "K[WD]vK"),
        ("K[BDD]vKB", "KBvK[BDD]"),
        ("K[WF]NvK", "KN[WF]vK"),
        ("K[N][RN]vK", "K[RN][N]vK"),
        ("K[D]vK[QA]", "K[QA]vK[D]"),
    ],
)
def test_described_men_come_last_and_by_their_letters(text: str, name: str) -> None:
    material = Material.parse(text)
    assert material.name == name
    assert Material.parse(name) == material == pickle.loads(pickle.dumps(material))
    assert material.is_described
    assert material.men == len([letter for letter in name if letter not in "[]v"]) - sum(
        len(part.partition("]")[0]) - 1 for part in name.split("[")[1:]
    )


def test_a_capture_takes_a_described_man_as_a_whole() -> None:
    assert names(sorted(Material.parse("KB[BD]vK").successors())) == "KBvK K[BD]vK"
    assert names(closure([Material.parse("KRvK[R]")])) == "KvK KRvK K[R]vK KRvK[R]"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("KP[WF]vK", "has pawns"),
        ("KQ[WF][WF]vKQ", "has 6 men, kings included, and tables have at most 5"),
        ("K[QNNCCZZ]vK[QNNCCZZ]", "more moves than tables can count"),
        ("K[WFvK", "is not a material name"),
        ("K[fW]vK", "no modifiers"),
    ],
)
def test_described_materials_that_no_table_holds(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        Material.parse(text)
