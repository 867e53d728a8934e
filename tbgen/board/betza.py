"""Men that are described in Betza's notation: from their letters to the steps they take.

Ralph Betza, *Funny Notation* (1996): a letter stands for a leap in all directions, a doubled one for a ride,
and several letters for a man that may move as any of them.
"""

import re
from functools import cache
from typing import Final

from tbgen.board.kinds import PIECE_VALUES, Kind, Step
from tbgen.errors import UsageError, quote

ATOMS: Final = {
    **{"W": (1, 0), "F": (1, 1), "D": (2, 0), "N": (2, 1), "A": (2, 2)},
    **{"H": (3, 0), "C": (3, 1), "Z": (3, 2), "G": (3, 3)},
}
"""The leaps by letter: wazir, ferz, dabbaba, knight, alfil, threeleaper, camel, zebra, tripper."""

_COMPOUNDS: Final = {"K": "WF", "Q": "WWFF", "R": "WW", "B": "FF"}
_ORDER: Final = "QRB" + "".join(ATOMS)
"""The letters of names in their order."""
_LETTERS: Final = re.compile(f"(?:[{''.join(_COMPOUNDS)}]|([{''.join(ATOMS)}])\\1?)")
_CLASHES: Final = ("D", "H"), ("A", "G")
"""Atoms of which two rides meet on one square, with different men in their ways."""


_EMPTY: Final = 0.8
"""Chance of a square to be empty in the middle of a game."""


def _steps(atom: str) -> tuple[Step, ...]:
    """Return the steps of an atom in all directions."""
    x, y = ATOMS[atom]
    turned = {(x, y), (y, x)}
    return tuple(sorted({(a * f, b * r) for f, r in turned for a in (1, -1) for b in (1, -1)}))


EVERY_MOVE: Final = Kind("", rides=sum(map(_steps, ATOMS), ()))
"""A man that rides by all atoms: no man has more moves."""


@cache
def described(text: str) -> Kind:
    """Return the kind of men that letters describe, which may be all small: one object for one kind.

    Its name has the letters in the order Q R B W F D N A H C Z G, as few as possible. What describes no man
    may be the name of one (:mod:`tbgen.board.named`).

    >>> described("bdd").name, described("K").name, described("NFFWW").name
    ('[BDD]', '[WF]', '[QN]')

    :raises UsageError: if they describe no man that tables can have.
    """
    is_mixed = not text.isupper() and not text.islower()
    if is_mixed and text.isalpha():
        raise UsageError(
            f"[{text}] is not a man of tables: men move alike in all directions and capture as they move, so "
            "a description has no modifiers: write it in capital letters only, or in small letters only"
        )
    if (kind := kind_of_letters(text.upper())) is not None:
        return kind
    from tbgen.board.named import FILE, named_men

    if not is_mixed and (named := named_men().get(text.lower())) is not None:
        return described(named.moves)
    raise UsageError(
        f"{quote(f'[{text}]')} is not a man: expected letters of {''.join(ATOMS)}, doubled for a rider, "
        f"or K, Q, R, B, such as [WF] or [BDD], or a name that {FILE} gives"
    )


def kind_of_letters(letters: str) -> Kind | None:
    """Return the kind that capital letters describe, None if they describe none.

    :raises UsageError: if it is none of tables.
    """
    parts = [match[0] for match in _LETTERS.finditer(letters)]
    if not parts or "".join(parts) != letters:
        return None
    return _kind("".join(_COMPOUNDS.get(part, part) for part in parts))


@cache
def _kind(atoms: str) -> Kind:
    """Return the kind of the letters of atoms."""
    riding = {atom for atom in ATOMS if 2 * atom in atoms}
    for one, other in _CLASHES:
        if {one, other} <= riding:
            raise UsageError(
                f"a man that rides by both {one} and {other} is not one of tables: leave one of them out, "
                "or let it leap"
            )
    leaping = [atom for atom in ATOMS if atom in atoms and atom not in riding]
    return _named(tuple(leaping), tuple(atom for atom in ATOMS if atom in riding))


@cache
def _named(leaping: tuple[str, ...], riding: tuple[str, ...]) -> Kind:
    lines = {"W": "R", "F": "B"}
    names = [lines.get(atom, 2 * atom) for atom in riding] + list(leaping)
    name = "".join(sorted(names, key=lambda letters: _ORDER.index(letters[0]))).replace("RB", "Q")
    return Kind(f"[{name}]", sum(map(_steps, leaping), ()), sum(map(_steps, riding), ()))


def order_of(name: str) -> list[int]:
    """Return a key by which the names of described men are sorted, letter by letter."""
    return [_ORDER.index(letter) for letter in name.strip("[]")]


@cache
def worth_of(man: str) -> float:
    """Return what a man is worth, in pawns: what ``PIECE_VALUES`` has, nothing for a king, and a guess for a
    described man.

    The guess is H. G. Muller's for men with n short leaps, 0.33 n + 0.007 n * n [1]. Each further step of a
    ride counts as a leap times its chance to find the board large enough and the squares on the way empty.

    [1] H. G. Muller, comment of 7 November 2020, https://www.chessvariants.com/index/editcomment.php?reply=40630

    >>> worth_of("[WF]"), worth_of("[W]"), worth_of("[Q]")
    (3.09, 1.43, 9.23)
    """
    if len(man) == 1:
        return PIECE_VALUES.get(man, 0.0)
    kind = described(man[1:-1])
    leaps = float(len(kind.steps))
    for (x, y), length in zip(kind.steps, kind.lengths, strict=True):
        room = (8 - abs(x)) * (8 - abs(y))
        more = ((8 - n * abs(x)) * (8 - n * abs(y)) / room * _EMPTY ** (n - 1) for n in range(2, length + 1))
        leaps += sum(more)
    return round(0.33 * leaps + 0.007 * leaps * leaps, 2)
