"""Tags that tell results: cuteRMob's own come back, nothing else changes, and all orders of work agree."""

import io
import pickle
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tbgen.errors import GameError, MissingLayerError, MissingTableError, UsageError
from tbgen.games.pgn import tags
from tbgen.games.pgn.splitter import RawGame, split_games
from tbgen.games.referee.fifty import FiftyMoveRule
from tbgen.games.referee.game import PlayRules
from tbgen.games.referee.result import Basis
from tbgen.games.tagging import Judge, TaggedGame, tag_games
from tbgen.games.tagging.edit import with_tags
from tbgen.games.tagging.verdict import told_by_tags
from tbgen.score import GScore
from tbgen.scoring import Komi, Scheme
from tbgen.variant import Variant
from tests.support.made_up_pgn import pgn_like
from tests.support.paths import DATA

BISHOP = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"
SHARED = {tags.POINTS, tags.CUTOFF, tags.SCORING, tags.FIFTY_MOVES}


def ours(variant: Variant) -> set[str]:
    names = tags.result_tags(variant)
    return SHARED | {names.result, names.basis, names.accrued}


def tagged(data: bytes, judge: Judge | None = None, jobs: int = 1) -> list[TaggedGame]:
    return list(tag_games(io.BytesIO(data), judge, jobs=jobs))


def joined(games: list[TaggedGame]) -> bytes:
    return b"".join(game.data for game in games)


def retagged(data: bytes, judge: Judge | None = None) -> bytes:
    return joined(tagged(data, judge))


def one(text: str, judge: Judge | None = None) -> dict[str, str]:
    """The tags of the only game after tagging."""
    (game,) = tagged(text.encode(), judge)
    return tags_of(next(split_games(io.BytesIO(game.data))))


def tags_of(raw: RawGame) -> dict[str, str]:
    return {tag.name: tag.value for tag in reversed(raw.tags)}


def stripped(data: bytes, names: Callable[[str], bool]) -> bytes:
    """The bytes without the lines of some tags."""
    parts: list[bytes] = []
    for raw in split_games(io.BytesIO(data)):
        done = 0
        for tag in raw.tags:
            if names(tag.name):
                parts.append(raw.data[done : tag.start])
                done = tag.end
        parts.append(raw.data[done:])
    return b"".join(parts)


@cache
def without_tables() -> Judge:
    return Judge(directory="there/are/none")


CUTERMOB = {
    "g01_exp_default": PlayRules(fifty_move_rule=FiftyMoveRule.IMPROVING),
    "g02_exp_legacy": PlayRules(),
    "g04_komi_pgn": PlayRules(fifty_move_rule=FiftyMoveRule.IMPROVING, scheme=Scheme.KOMI),
}


@pytest.mark.parametrize("name", CUTERMOB)
@pytest.mark.parametrize("strip", [True, False])
def test_the_results_of_cutermob(name: str, strip: bool) -> None:
    data = (DATA / f"{name}.pgn").read_bytes()
    bare = stripped(data, lambda tag: tag.startswith("RMobility") or tag == "Points")
    assert bare.count(b"RMobility") == bare.count(b"Points") == 0
    found = retagged(bare, Judge(CUTERMOB[name])) if strip else retagged(data)
    games, expected = [[tags_of(raw) for raw in split_games(io.BytesIO(text))] for text in (found, data)]
    assert len(games) == 12
    rule = "legacy" if "legacy" in name else "improving"
    for game, known in zip(games, expected, strict=True):
        assert {key: game[key] for key in known} == known
        assert (game["RMobilityFiftyMoveRule"], game["RMobilityAccrued"]) == (rule, game["RMobilityResult"])
        assert set(game) - set(known) == {"RMobilityBasis", "RMobilityAccrued", "RMobilityFiftyMoveRule"}
    assert stripped(found, ours(Variant.R_MOBILITY).__contains__) == stripped(
        data, ours(Variant.R_MOBILITY).__contains__
    )
    assert retagged(found) == found


JUDGES = [
    Judge(PlayRules(rule, cutoff, bare, variant, scheme, komi), "there/are/none")
    for rule, cutoff, bare, variant, scheme, komi in [
        (None, None, None, Variant.R_MOBILITY, None, None),
        (None, None, None, Variant.WHOLE_GAME, None, None),
        (FiftyMoveRule.IMPROVING, GScore(7, True), True, Variant.R_MOBILITY, Scheme.WINNER, None),
        (FiftyMoveRule.LEGACY, None, False, Variant.R_MOBILITY, Scheme.KOMI, Komi(6, False)),
        (FiftyMoveRule.OTB, None, None, Variant.WHOLE_GAME, Scheme.FULL, Komi(7, True)),
        (FiftyMoveRule.NONE, GScore(3, True), None, Variant.R_MOBILITY, Scheme.HARMONIC, None),
        (FiftyMoveRule.CUTERMOB_LEGACY, None, None, Variant.R_MOBILITY, Scheme.OTB, Komi(5, True)),
        (None, None, None, Variant.WHOLE_GAME, Scheme.CLASSICAL, None),
    ]
]


@settings(deadline=None, max_examples=400)
@given(pgn_like(mixed=False), st.sampled_from(JUDGES))
def test_nothing_changes_but_our_tags(data: bytes, judge: Judge) -> None:
    games = tagged(data, judge)
    assert b"".join(game.raw.data for game in games) == data
    variant = judge.rules.variant
    for game in games:
        assert (game.verdict is None) or (game.error is None)
        if game.verdict is None:
            assert game.data == game.raw.data
            assert (game.error is None) == game.raw.empty
            continue
        told = game.verdict.tags()
        added = ours(variant) | ({tags.KOMI} if tags.KOMI not in tags_of(game.raw) else set())
        (again,) = split_games(io.BytesIO(game.data))
        found = tags_of(again)
        assert {name: found[name] for name in told if name in added} == {
            name: value for name, value in told.items() if name in added
        }
        before, after = stripped_game(game.raw, added), stripped_game(again, added)
        assert after in (with_break(before) if game.raw.tags else with_blank(game.raw))
    assert retagged(joined(games), judge) == joined(games)


def stripped_game(raw: RawGame, names: set[str]) -> bytes:
    done, parts = 0, []
    for tag in raw.tags:
        if tag.name in names:
            parts.append(raw.data[done : tag.start])
            done = tag.end
    return b"".join([*parts, raw.data[done:]])


def with_break(data: bytes) -> list[bytes]:
    """A file that ends with a tag, and without a line break, gets one."""
    return (
        [data] if data.endswith((b"\n", b"\r")) else [data, *(data + end for end in (b"\n", b"\r", b"\r\n"))]
    )


def with_blank(raw: RawGame) -> list[bytes]:
    """A game without tags gets an empty line before its moves, which is ours too."""
    head, moves = raw.data[: raw.movetext], raw.data[raw.movetext :]
    return [head + newline + moves for newline in (b"\n", b"\r", b"\r\n")]


@settings(deadline=None, max_examples=150)
@given(pgn_like(mixed=False), st.sampled_from(JUDGES), st.sampled_from(JUDGES))
def test_other_options_replace_what_the_first_ones_told(data: bytes, first: Judge, second: Judge) -> None:
    """However often; the tags of both kinds of rules live side by side."""
    once = retagged(retagged(data, first), second)
    assert retagged(once, second) == once
    for raw in split_games(io.BytesIO(once)):
        names = [tag.name for tag in raw.tags]
        mine = ours(second.rules.variant)
        if any(name in mine for name in names) and not any(game.error for game in tagged(raw.data, second)):
            assert all(names.count(name) == 1 for name in mine)


def test_where_tags_go() -> None:
    told = {"RMobilityResult": "G1.0", "Points": "1-0", "Komi": "G5.75"}
    block = b'[RMobilityResult "G1.0"]\n[Points "1-0"]\n[Komi "G5.75"]\n'

    def put(data: bytes) -> bytes:
        (raw,) = split_games(io.BytesIO(data))
        return with_tags(raw, told, variant=Variant.R_MOBILITY)

    assert put(b'[A "1"]\n[Result "*"]\n[B "2"]\n\n*') == b'[A "1"]\n[Result "*"]\n' + block + b'[B "2"]\n\n*'
    assert put(b'[A "1"]\n\n*\n') == b'[A "1"]\n' + block + b"\n*\n"
    assert put(b"1. e4 *\n") == block + b"\n1. e4 *\n"
    assert put(b"% x\r\n1. e4 *") == b"% x\r\n" + block.replace(b"\n", b"\r\n") + b"\r\n1. e4 *"
    assert put(b'\xef\xbb\xbf[A "1"]') == b'\xef\xbb\xbf[A "1"]\n' + block
    assert put(b'[Komi "G1.5"]\n[Points "0-1"]\n[Points "x"]\n*') == b'[Komi "G1.5"]\n' + block[:-15] + b"*"
    assert put(b'[A "1"]\n[Points "0-1"]\n[B "2"]\n\n*') == b'[A "1"]\n' + block + b'[B "2"]\n\n*'
    assert put(b'[Points "0-1"]\n\n*') == block + b"\n*"


def test_the_other_rules_result_stays() -> None:
    text = f'[FEN "{BISHOP}"]\n\n1... Kh5 2. Kf4 *\n'
    by_r = retagged(text.encode(), without_tables())
    whole = Judge(PlayRules(variant=Variant.WHOLE_GAME), "there/are/none")
    both = one(by_r.decode(), whole)
    alone, other = one(text, whole), one(text, without_tables())
    for name in ("Result", "Basis", "Accrued"):
        assert both[f"RMobility{name}"] == other[f"RMobility{name}"]
        assert both[f"WGMobility{name}"] == alone[f"WGMobility{name}"]
        assert f"RMobility{name}" not in alone
        assert f"WGMobility{name}" not in other
    again = one(retagged(by_r, whole).decode(), without_tables())
    assert again == both | {"Points": other["Points"]}


def test_adjudication_by_tables(reference_dir: Path) -> None:
    judge = Judge(directory=reference_dir)
    draw = f'[FEN "{BISHOP}"]\n[Result "1/2-1/2"]\n\n1... Kh5 2. Kf4 {{Draw by adjudication}} 1/2-1/2\n'
    assert one(draw, judge) == {
        "FEN": BISHOP,
        "Result": "1/2-1/2",
        "RMobilityResult": "G1.5",
        "Points": "0.5625-0.4375",
        "RMobilityBasis": "tablebase",
        "RMobilityAccrued": "G2.5",
        "RMobilityCutoff": "G6.0",
        "RMobilityScoring": "Exponential",
        "RMobilityFiftyMoveRule": "legacy",
    }
    (game,) = tagged(draw.encode(), judge)
    assert game.verdict is not None
    assert (game.verdict.outcome.depth, game.verdict.outcome.proven) == (2, True)
    played = one(draw, without_tables())
    assert (played["RMobilityResult"], played["RMobilityBasis"]) == ("G2.5", "played")
    won = one(draw.replace("Draw by", "White wins by").replace("1/2-1/2", "1-0"), judge)
    assert (won["RMobilityResult"], won["RMobilityBasis"]) == ("G0.0", "forfeit")
    whole = one(draw, Judge(PlayRules(variant=Variant.WHOLE_GAME), reference_dir))
    assert (whole["WGMobilityResult"], whole["WGMobilityBasis"]) == ("G2.5", "played")


def test_missing_tables(reference_dir: Path) -> None:
    rook = b'[FEN "8/8/8/4KRk1/8/8/8/8 b - - 0 1"]\n\n*\n'
    (game,) = tagged(rook, Judge(directory=reference_dir))
    assert game.verdict is not None
    assert game.verdict.outcome.basis is Basis.PLAYED
    assert game.verdict.outcome.missing is not None
    assert game.verdict.outcome.missing.__traceback__ is None  # it would keep boards in memory
    for jobs in (1, 2):
        with pytest.raises(GameError, match="game 1, line 1: table KRvK is missing") as caught:
            tagged(rook, Judge(directory=reference_dir, require_tables=True), jobs)
        assert isinstance(caught.value.error, MissingTableError)
        assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    ("words", "result"),
    [
        ("Black loses on time", "G0.0"),
        ("White loses on time", "-G0.0"),
        ("White makes an illegal move: e2e5", "-G0.0"),
        ("Black disconnects", "G0.0"),
    ],
)
def test_forfeits_as_cutermob_writes_them(words: str, result: str) -> None:
    """With a Result that is wrong, and stays."""
    text = f'[Result "1/2-1/2"]\n[RMobilityCutoff "G6.0"]\n\n1. e4 e5 {{+0.1/5 1s, {words}}} 1/2-1/2\n'
    for extra in ("", f'[RMobilityResult "{result}"]\n'):
        found = one(extra + text)
        assert (found["RMobilityResult"], found["RMobilityBasis"]) == (result, "forfeit")
        assert (found["Result"], found["Points"]) == (
            "1/2-1/2",
            "1.0000-0.0000" if result == "G0.0" else "0.0000-1.0000",
        )
        assert found["RMobilityFiftyMoveRule"] == "improving"


SOUND = b'[Event "%d"]\r\n\r\n1. f3 e5 2. g4 Qh4# 0-1\r\n\r\n'
BROKEN = b'[Event "x"]\n[Points "1-0"]\n\n1. e4 e5 {\n\n}\n2. Ke3 *\n\n'


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_broken_games_pass_through(jobs: int) -> None:
    games = tagged(SOUND % 1 + BROKEN + SOUND % 2 + b'[Komi "much"]\n\n*\n', jobs=jobs)
    assert [game.data == game.raw.data for game in games] == [False, True, False, True]
    assert [str(game.error) for game in games if game.error] == [
        "game 2, line 11, ply 3: 'Ke3' is not a legal move",
        "game 4, line 17: 'much' is not a komi: expected moves in quarters, such as G5.75 or G6, "
        "or -G5.75 or mG5.75 if Black has to beat it",
    ]
    assert all(isinstance(game.error, UsageError) for game in games if game.error)


def test_processes_change_nothing(reference_dir: Path) -> None:
    """And games come in order, from several batches."""
    endgame = f'[FEN "{BISHOP}"]\n\n1... Kh5 2. Kf4 *\n\n'.encode()
    data = b"".join(SOUND % number + (BROKEN if number % 7 == 0 else endgame) for number in range(150))
    for rules in (PlayRules(), PlayRules(variant=Variant.WHOLE_GAME, scheme=Scheme.KOMI)):
        judge = Judge(rules, reference_dir)
        games = tagged(data, judge)
        assert [game.raw.number for game in games] == list(range(1, 301))
        for jobs in (2, 3):
            others = tagged(data, judge, jobs)
            assert joined(others) == joined(games)
            assert [str(game.error) for game in others] == [str(game.error) for game in games]
            assert [game.verdict for game in others] == [game.verdict for game in games]


class LackingLayers(Judge):
    """Finds that each game of mate needs a layer, and has it only where it may be made."""

    makes = True

    def without_layers(self) -> Judge:
        judge = LackingLayers()
        judge.makes = False
        return judge

    def __reduce__(self) -> tuple[object, ...]:
        return _lacking, (self.makes,)

    def judge(self, raw: RawGame) -> "object":  # type: ignore[override]
        if b"#" in raw.data and not self.makes:
            raise MissingLayerError("not here")
        return super().judge(raw)


def _lacking(makes: bool) -> LackingLayers:
    judge = LackingLayers()
    judge.makes = makes
    return judge


def test_layers_are_made_by_the_first_process() -> None:
    data = (SOUND % 1 + b'[A "1"]\n\n1. e4 *\n\n') * 40
    judge = LackingLayers()
    assert joined(tagged(data, judge, 2)) == joined(tagged(data))
    with pytest.raises(GameError, match="not here"):
        tagged(data, judge.without_layers())


def test_a_judge_that_makes_no_layers() -> None:
    judge = Judge(PlayRules(variant=Variant.WHOLE_GAME), "x", require_tables=True, trust_tags=True)
    settings = {"_directory": "x", "_require_tables": True, "_trust_tags": True, "_tables": None}
    settings |= {"rules": judge.rules}
    for sent, make_layers in ((judge.without_layers(), False), (judge, True)):
        assert vars(pickle.loads(pickle.dumps(sent))) == settings | {"_make_layers": make_layers}


def test_a_judge_leaves_its_open_tables_behind(reference_dir: Path) -> None:
    judge = Judge(directory=reference_dir)
    tagged(f'[FEN "{BISHOP}"]\n\n*\n'.encode(), judge)
    assert vars(judge)["_tables"] is not None
    assert vars(pickle.loads(pickle.dumps(judge)))["_tables"] is None
    assert vars(judge.without_layers())["_tables"] is None


def test_trusted_tags(reference_dir: Path) -> None:
    """They save the judging, but points are counted anew; without them the game is judged."""
    draw = f'[FEN "{BISHOP}"]\n[Result "1/2-1/2"]\n\n1... Kh5 2. Kf4 *\n'
    known = retagged(draw.encode(), Judge(directory=reference_dir)).decode()
    harmonic = PlayRules(scheme=Scheme.HARMONIC)
    trusting = Judge(harmonic, "there/are/none", trust_tags=True)
    found = one(known, trusting)
    assert (found["RMobilityResult"], found["RMobilityBasis"]) == ("G1.5", "tablebase")
    assert found["Points"] == "0.6250-0.3750"
    assert one(known, Judge(harmonic, "there/are/none"))["RMobilityBasis"] == "played"
    assert one(draw, trusting)["RMobilityBasis"] == "played"
    whole = one(known, Judge(PlayRules(variant=Variant.WHOLE_GAME), "there/are/none", trust_tags=True))
    assert (whole["WGMobilityBasis"], whole["RMobilityBasis"]) == ("played", "tablebase")
    for name in ("RMobilityResult", "RMobilityBasis", "RMobilityAccrued", "RMobilityFiftyMoveRule"):
        lacking = re.sub(rf'\[{name} ".*"\]', f'[{name} "x"]', known)
        if name != "RMobilityFiftyMoveRule":
            assert one(lacking, trusting)["RMobilityBasis"] == "played"
        assert told_by_tags(tags_of(next(split_games(io.BytesIO(lacking.encode())))), harmonic) is None


@settings(deadline=None, max_examples=100)
@given(
    pgn_like(mixed=False),
    st.sampled_from([judge for judge in JUDGES if judge.rules.scheme is not Scheme.FULL]),
)
def test_tags_tell_the_verdict(data: bytes, judge: Judge) -> None:
    for game in tagged(data, judge):
        if game.verdict is not None:
            told = told_by_tags(tags_of(next(split_games(io.BytesIO(game.data)))), judge.rules)
            assert told is not None
            assert told.tags() == game.verdict.tags()


def test_memory_holds_few_games() -> None:
    """Each game is gone before many more have been read, in one process and in two."""
    for jobs, most in ((1, 2), (2, 10 * 32)):
        stream = Endless()
        games = tag_games(stream, jobs=jobs)
        for _ in range(2000):
            next(games)
        assert stream.read_games - 2000 <= most + (1 << 18) // len(SOUND)
        games.close()  # type: ignore[attr-defined]


class Endless:
    """Game after game."""

    read_games = 0

    def read(self, size: int, /) -> bytes:
        count = size // len(SOUND)
        self.read_games += count
        return SOUND.replace(b"%d", b"1") * count
