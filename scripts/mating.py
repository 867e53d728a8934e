#!/usr/bin/env python3
"""Write docs/mating.md, the mating potential of men by tables and by rules of thumb.

    scripts/mating.py

The page is made from the list in docs/mating and the data of reports in docs/tables; the same data give the
same bytes. The list is the output of ``tbgen report --mating MEN --json``. This command saves it first:

    scripts/mating.py --list list.json
"""

from __future__ import annotations

import argparse
import gzip
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from tbgen.board.kinds import KINDS
from tbgen.board.material import Material, worth_of
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.errors import TbgenError, UsageError, quote
from tbgen.report.data import SavedData
from tbgen.report.endgames import WIKI_PAGE as WIKI
from tbgen.report.mating import MATING_HEAD, MIN_MATING_LEAD, MULLER, MatingMarks, mating_rows, mating_rule
from tbgen.report.model import MatingEntry, MatingFacts, Verdict
from tbgen.system.files import write_file
from tbgen.text import counted, share_text

ROOT: Final = Path(__file__).resolve().parent.parent
DATA: Final = ROOT / "docs" / "mating"
TABLES: Final = ROOT / "docs" / "tables"
PAGE: Final = ROOT / "docs" / "mating.md"
_LIST_FILE: Final = "list.json.gz"
_PIECES: Final = {kind.name: kind.noun for kind in KINDS[1:]}
_NAMES: Final = _PIECES | {
    **{"[W]": "wazir", "[F]": "ferz", "[D]": "dabbaba", "[A]": "alfil", "[H]": "threeleaper", "[C]": "camel"},
    **{"[Z]": "zebra", "[WF]": "commoner", "[WD]": "woody rook", "[WA]": "waffle", "[FA]": "modern elephant"},
    **{"[FDA]": "FAD", "[BD]": "bede", "[BDD]": "adjutant", "[BW]": "dragon horse", "[BN]": "archbishop"},
    **{"[RF]": "dragon king", "[RN]": "chancellor", "[QN]": "amazon", "[NN]": "nightrider"},
}
"""Usual names of men, for men that have one."""
_ONE_COLOUR: Final = "="
"""Suffix of a material. With it, only positions count whose men are on squares of one colour."""
_VERDICT_SIGNS: Final = {Verdict.GENERAL: "●", Verdict.SOMETIMES: "○"}
"""Signs of verdicts in a table. Other verdicts have no sign."""
SOURCES: Final = (
    "the README of Pair-o-Max, http://winboard.nl/cgi-bin?p=fairymax.git;a=blob_plain;f=README;hb=pairomax",
    "2 January 2018, https://www.chessvariants.com/index/editcomment.php?reply=35833",
    "6 May 2019, https://www.chessvariants.com/index/editcomment.php?reply=37657",
    "10 October 2011, http://www.talkchess.com/forum/viewtopic.php?t=40629",
)
"""Sources of the statements of H. G. Muller."""
WIKI_SENTENCES: Final = {
    "KvK": ("usually G5.5, also G8.5, G4.5, G3.5, G2.5, G1.5", "5.5 8.5 4.5 3.5 2.5 1.5"),
    "KBvK": ("usually G1.5", "1.5"),
    "KNvK": (
        "usually G3.5, also G1.5, G2.5, stalemate, rarely G2.0, G3.0, G1.0",
        "3.5 1.5 2.5 0.5 2.0 3.0 1.0",
    ),
    "KNNvK": ("stalemate, unless a knight can be captured or there is mate in one", "0.5 0.0"),
    "KPvK": ("mate or stalemate, unless the pawn can be captured", "0.0 0.5"),
}
"""Sentences of the wiki on materials, each with the scores that it names, the usual score first."""


class Claim(NamedTuple):
    """A statement of H. G. Muller on endings."""

    text: str
    source: int
    """Number in :data:`SOURCES`, from 1."""
    wins: bool
    """Whether the statement claims a general win of the side that is ahead."""
    endings: str


CLAIMS: Final = (
    Claim("The woody rook and the commoner mate alone, although they are light.", 1, True, "K[WD]vK K[WF]vK"),
    Claim("A commoner holds out against a queen.", 1, False, "KQvK[WF]"),
    Claim("Two knights, two wazirs and two ferzes do not mate.", 1, False, "KNNvK K[W][W]vK K[F][F]vK"),
    Claim(
        "A man that is bound to a colour does not mate, however strong.", 1, False, "KBvK K[BD]vK K[BDD]vK"
    ),
    Claim("A rook does not beat a bishop or a knight.", 2, False, "KRvKB KRvKN"),
    Claim(
        "An extra minor piece does not win if each side also has one piece of the same kind.",
        2,
        False,
        "KBNvKB KRNvKR KQBvKQ",
    ),
    Claim("Two bishops beat a knight, but for the 50-move rule.", 4, True, "KBBvKN"),
    Claim("Commoner and knight beat a knight.", 4, True, "KN[WF]vKN"),
    Claim("The waffle, the FAD and the bede do not mate alone.", 3, False, "K[WA]vK K[FAD]vK K[BD]vK"),
    Claim("Two of each do, on squares of both colours.", 3, True, "K[WA][WA]vK K[FAD][FAD]vK K[BD][BD]vK"),
    Claim("Bede and FAD do so too,", 3, True, "K[BD][FAD]vK"),
    Claim("but not on squares of one colour.", 3, False, "K[BD][FAD]vK="),
    Claim("A rook beats a waffle, but for the 50-move rule.", 3, True, "KRvK[WA]"),
)


class Mating:
    """The data of the page.

    :param data: directory of the list.
    :param tables: directory of the data of reports.
    """

    def __init__(self, data: Path, tables: Path) -> None:
        document = msgspec.json.decode(gzip.decompress((data / _LIST_FILE).read_bytes()))
        self.entries = {entry.material: entry for entry in map(MatingEntry.read, document["entries"])}
        self.reports = SavedData(tables)
        alone = (entry.material.sides for entry in self.entries.values() if entry.material.men == 3)
        self.men = sorted((white[1] for white, _ in alone if "P" not in white), key=worth_of, reverse=True)
        """All men, the strongest first."""

    def of(self, white: str, black: str = "") -> tuple[MatingEntry, int]:
        """Return the entry of two sides, given without kings, and the colour number of the first side."""
        material, swapped = Material.of_sides(f"K{white}", f"K{black}")
        return self.entries[material], int(swapped)

    def truth(self, ending: str) -> tuple[MatingFacts, str]:
        """Return the result by tables for the side that is ahead in an ending, and the name of the ending."""
        material = Material.parse(ending.removesuffix(_ONE_COLOUR))
        alike = ending.endswith(_ONE_COLOUR)
        entry = self.entries.get(material)
        found = self.reports.report(material, Variant.R_MOBILITY).mating if entry is None else entry.potential
        truths = found.like_bishops if alike else found.truth
        assert truths is not None
        return truths[found.rule.leader or "white"], f"{_name(material)}{', one colour' if alike else ''}"

    def marks(self) -> MatingMarks:
        """Return the marks of light men, as :func:`tbgen.report.mating.marks_of_tables` does."""

        def wins(white: str, black: str = "") -> bool:
            entry, side = self.of(white, black)
            return entry.potential.truth[side].verdict is Verdict.GENERAL

        light = [man for man in self.men if worth_of(man) < MIN_MATING_LEAD]
        return MatingMarks(
            frozenset(man for man in light if wins(man)),
            frozenset(man for man in light if not wins(man + man)),
            frozenset(man for man in light if not wins("Q", man)),
        )

    def wiki(self, name: str) -> Sequence[str]:
        """Return a row: an ending, the sentence of the wiki, the shares of its scores and of other scores."""
        text, scores = WIKI_SENTENCES[name]
        counts = Counter[GScore]()
        for side in self.reports.report(Material.parse(name), Variant.R_MOBILITY).endgame.sides:
            for score, count in side.quiet.items():
                counts[GScore(score.rank, True)] += count
        named = [GScore.parse(f"G{score}") for score in scores.split()]

        def listed(chosen: Sequence[GScore]) -> str:
            return ", ".join(f"{score} {_share(counts[score] / counts.total())}" for score in chosen)

        others = [score for score, _ in counts.most_common() if score not in named]
        return name, text, listed(named), listed(others)


def save(document: dict[str, Any], data: Path) -> None:
    """Save the list of the page.

    :raises UsageError: if the document is not such a list.
    """
    if not isinstance(document, dict) or not document.get("entries"):
        raise UsageError("the file is no list of tbgen report --mating MEN --json")
    data.mkdir(parents=True, exist_ok=True)
    write_file(data / _LIST_FILE, gzip.compress(msgspec.json.encode(document), mtime=0))


def write_page(data: Path, tables: Path, page: Path) -> None:
    """Write the page."""
    write_file(page, ("\n\n".join(_page(Mating(data, tables))) + "\n").encode())


def _page(mating: Mating) -> Iterator[str]:
    judged = [entry for entry in mating.entries.values() if entry.potential.agrees is not None]
    wrong = [entry for entry in judged if not entry.potential.agrees]
    yield "# What men can mate"
    yield (
        "This page is for engine authors and fans of fairy pieces. It tells you which men can force mate, "
        "alone, in pairs and against each other, and where the rule of thumb that engines use is wrong. One "
        "command answers the same questions for any man:"
    )
    yield '```\ntbgen build "K[WD]vK" "K[WD][WD]vK" && tbgen report --mating "[WD]"\n```'
    yield (
        f"The page covers {counted(len(mating.entries), 'ending')} with {len(mating.men)} kinds of men. The "
        f"rule is that of Pair-o-Max; it is right in {len(judged) - len(wrong)} of the {len(judged)} endings "
        "for which it predicts anything. [report.md](report.md#mating-potential-of-any-men) explains words "
        "and columns, and [described.md](described.md) the men in brackets. A *share* is the percentage of "
        "open positions in which the attacker can force mate, first with the attacker to move, then with the "
        "defender to move. *Longest* is the longest forced mate, in plies. There is no 50-move rule."
    )
    yield "## Alone and in pairs"
    yield (
        "The table shows one man, and two of the same kind, against a bare king. Two men bound to a colour "
        "stand on squares of opposite colours. *Typical* is the typical score with the lone king to move, "
        "where there is no general win."
    )
    columns = ("share", "longest", "typical")
    rows: Iterator[Sequence[str]] = (
        (_name(man), _NAMES.get(man, ""), f"{worth_of(man):g}", *_bare(mating, man), *_bare(mating, 2 * man))
        for man in mating.men
    )
    yield _table(
        ("man", "", "value", *(f"alone: {name}" for name in columns), "two: share", *columns[1:]), rows
    )
    yield "## Against pieces of chess"
    yield (
        "Each cell names the man of greater value and gives its share. General wins are bold; elsewhere the "
        "typical score with the other man's side to move follows. Scores with a minus belong to the man in "
        "brackets."
    )
    rows = ((_name(man), *(_duel(mating, man, piece) for piece in _PIECES)) for man in mating.men)
    yield _table(("man", *_PIECES.values()), rows)
    yield "## Against each other"
    signs = {man: [_sign(mating, man, other) for other in mating.men] for man in mating.men}
    without_wins = ", ".join(_name(man) for man, row in signs.items() if not any(row))
    yield (
        "The man of the row wins in general against the man of the column (●), or only in some open "
        f"positions (○). These never win by force: {without_wins}."
    )
    rows = ((_name(man), *row) for man, row in signs.items() if any(row))
    yield _table(("", *map(_name, mating.men)), rows)
    yield "## Where the rule is wrong"
    yield _table(MATING_HEAD[:-1], _wrong(wrong))
    yield from _marks(mating, judged)
    yield "## What Muller says"
    yield _table(("", "source", "shares", ""), (_judged(mating, claim) for claim in CLAIMS))
    sources = "; ".join(f"({number}) {text}" for number, text in enumerate(SOURCES, 1))
    yield f"Sources, all by H. G. Muller: {sources}."
    yield "## Beside other programs"
    yield _beside(mating)
    yield "## What the wiki says"
    yield (
        f"The table shows what the [wiki of the rules]({WIKI}) says about basic endings, and the share of "
        "each score among the positions without captures. The shares count both holders and both "
        "sides to move together."
    )
    yield _table(("ending", "wiki", "scores it names", "others"), map(mating.wiki, WIKI_SENTENCES))
    yield "## How this page is made"
    yield (
        "`tbgen build` makes each table of up to four men in 1 to 3 s, and the one of five men in a minute. "
        "`tbgen report` lists them, `scripts/mating.py --list list.json` saves the list, and "
        "`scripts/mating.py` makes the page from it and from `docs/tables`:"
    )
    named = " ".join(
        f'"{name}"' if "[" in name else name for name in map(str, filter(_is_mixed, mating.entries))
    )
    yield f'```\ntbgen report {named} \\\n  --mating "{" ".join(mating.men)}" --json > list.json\n```'
    yield "All these tables are proved in full: `tbgen verify --proofs` wrote `docs/mating/proofs.txt`."


def _is_mixed(material: Material) -> bool:
    """Return whether a material is not among the materials that are listed for single men."""
    white, black = (side[1:] for side in material.sides)
    return len({*white}) != 1 or (len(white) > 1 and bool(black))


def _name(man: str | Material) -> str:
    """Return the name of a man or material for Markdown, where brackets mean links."""
    return str(man).replace("[", "\\[").replace("]", "\\]")


def _table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _share(part: float, decimals: int = 2) -> str:
    return share_text(part, decimals).replace("\N{NO-BREAK SPACE}", " ")


def _shares(truth: MatingFacts, decimals: int = 2) -> str:
    to_move, waiting = (_share(chance.share, decimals) for chance in (truth.to_move, truth.waiting))
    return to_move if to_move == waiting else f"{to_move.removesuffix(' %')} / {waiting}"


def _bare(mating: Mating, men: str) -> tuple[str, str, str]:
    """Return the share, the longest way and the typical score of men against a bare king."""
    row = next(mating_rows(mating.of(men)[0]))
    return _shares(mating.of(men)[0].potential.truth.white), row[4].removesuffix(" plies"), row[5]


def _duel(mating: Mating, man: str, piece: str) -> str:
    """Return a cell: the result of a man against a piece."""
    if man == piece:
        return ""
    entry, _ = mating.of(man, piece)
    leader = entry.potential.rule.leader or "white"
    truth = entry.potential.truth[leader]
    name = _name(entry.material.sides[leader == "black"][1])
    if truth.verdict is Verdict.GENERAL:
        return f"**{name}** {_shares(truth, 1)}"
    typical = entry.typical[leader == "white"]
    return f"{name} {_shares(truth, 1)}, {typical}"


def _sign(mating: Mating, man: str, other: str) -> str:
    if man == other:
        return ""
    entry, side = mating.of(man, other)
    return _VERDICT_SIGNS.get(entry.potential.truth[side].verdict, "")


def _wrong(entries: Sequence[MatingEntry]) -> Iterator[Sequence[str]]:
    for entry in sorted(entries, key=lambda entry: entry.potential.rule.wins is False):
        row = next(mating_rows(entry))
        yield _name(row[0]), *row[1:-1]


def _marks(mating: Mating, judged: Sequence[MatingEntry]) -> Iterator[str]:
    """Yield the marks of men by the tables, and the success of the rule with them."""
    marks = mating.marks()
    yield (
        f"The rule needs three marks of men. For men worth less than {MIN_MATING_LEAD} pawns, these tables "
        "give:"
    )
    marks_by_name = {
        "mate alone": (marks.mating, MULLER.mating),
        "do not mate in pairs": (marks.no_pair, MULLER.no_pair),
        "hold out against a queen": (marks.tough, MULLER.tough),
    }
    yield _table(
        ("mark", "by the tables", "by default"),
        (
            (word, *(", ".join(map(_name, sorted(men))) or "-" for men in mark_sets))
            for word, mark_sets in marks_by_name.items()
        ),
    )
    correct = 0
    for entry in judged:
        rule = mating_rule(entry.material, marks=marks)
        verdict = entry.potential.truth[rule.leader or "white"].verdict
        correct += rule.wins is None or rule.wins == (verdict is Verdict.GENERAL)
    yield f"With these marks the rule is right in {correct} of the {len(judged)} endings."


def _beside(mating: Mating) -> str:
    """Return a text on programs that report other numbers, and how they count."""
    rook, queen = mating.of("Q", "R")[0].longest.white, mating.of("Q", "[WF]")[0].longest.white
    pair = mating.of("[F][F]")[0].potential.truth.white
    forced, opened = pair.to_move.forced + pair.waiting.forced, pair.to_move.open + pair.waiting.open
    return (
        "In every ending that was compared, FairyGen by H. G. Muller finds the same number of forced mates "
        "of each length ([described.md](described.md#how-it-is-known-to-be-right)).\n\n"
        "The longest wins are counted up to mate; some programs, such as FairyGen by default, stop at the "
        f"decisive capture. So the longest win of KQvKR takes {rook} plies here, and 62 up to the "
        f"capture of the rook. That of {_name('KQvK[WF]')} takes {queen} either way, because it ends in mate "
        f"with the commoner still on the board.\n\nOn the full board, two ferzes mate by force in {forced} "
        f"of {opened:,} open positions, in FairyGen as here. All are of one kind: in "
        "`8/8/8/8/[F]7/8/2K5/k1[F]5 w`, c1b2+ leaves Black only a1a2, and a4b3 mates."
    )


def _judged(mating: Mating, claim: Claim) -> Sequence[str]:
    """Return a row: a claim, its source, the shares by tables, and whether the claim is true."""
    truths = [mating.truth(ending) for ending in claim.endings.split()]
    right = [(truth.verdict is Verdict.GENERAL) == claim.wins for truth, _ in truths]
    shares = "; ".join(f"{name} {_shares(truth)}" for truth, name in truths)
    return (
        claim.text,
        f"({claim.source})",
        shares,
        "true" if all(right) else "wrong" if not any(right) else "partly",
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", type=Path, metavar="FILE", help="a list to save for the page")
    parser.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="the saved list")
    parser.add_argument("--tables", type=Path, default=TABLES, metavar="DIR", help="the data of reports")
    parser.add_argument("--out", type=Path, default=PAGE, metavar="FILE", help="the page")
    arguments = parser.parse_args()
    try:
        if arguments.list is not None:
            save(document_of(arguments.list), arguments.data)
        write_page(arguments.data, arguments.tables, arguments.out)
    except TbgenError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def document_of(path: Path) -> Any:
    """Return the document of a file.

    :raises UsageError: if the file cannot be read.
    """
    try:
        return msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{quote(str(path))} cannot be read: {error.strerror}") from None
    except msgspec.DecodeError:
        raise UsageError(f"{quote(str(path))} is no list of tbgen report --mating MEN --json") from None


if __name__ == "__main__":
    sys.exit(main())
