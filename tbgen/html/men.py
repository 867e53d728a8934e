"""Pictures of described men: a tile with how they move, or files that ``men.toml`` names."""

from contextlib import suppress
from typing import Final

from tbgen.board.betza import described
from tbgen.board.named import named_picture
from tbgen.html.style import MAN_SIZE

_MIDDLE: Final = MAN_SIZE / 2
_STEP: Final = 4.4
"""From the square in the middle to the next: three steps are on the tile."""
_NEAR, _FAR = 3.0, 14.5
"""Where the line of a ride begins and ends, from the middle along files or ranks."""
_COLOURS: Final = {True: ("#fff", "#000"), False: ("#000", "#fff")}
"""Of the tile, and of what is on it."""


def picture_of_man(letters: str, white: bool) -> bytes:
    """Return an SVG file of a described man, :data:`MAN_SIZE` wide and high.

    It is the one that ``men.toml`` names, else a tile that shows how the man moves from its middle: a dot for
    each leap, a line for each ride, with a dot where its first step leaps.

    :param letters: its description or name, without brackets.

    :raises UsageError: if there is no such man.
    """
    name = described(letters).name
    path = named_picture(name, white)
    if path is not None:
        with suppress(OSError):  # it has gone since it was named
            return path.read_bytes()
    return drawn_man(name, white).encode()


def drawn_man(name: str, white: bool) -> str:
    """Return the tile of a man with a canonical name, such as ``[WF]``."""
    kind, (fill, line) = described(name[1:-1]), _COLOURS[white]
    marked = kind.leaps + tuple(step for step in kind.rides if max(map(abs, step)) > 1)
    dots = "".join(f'<circle cx="{_at(x * _STEP)}" cy="{_at(-y * _STEP)}" r="1.8"/>' for x, y in marked)
    rays = [(x / size, -y / size) for x, y in kind.rides for size in [max(abs(x), abs(y))]]
    lines = "".join(f"M{_at(x * _NEAR)} {_at(y * _NEAR)}L{_at(x * _FAR)} {_at(y * _FAR)}" for x, y in rays)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {MAN_SIZE} {MAN_SIZE}" '
        f'width="{MAN_SIZE}" height="{MAN_SIZE}"><title>{name if white else name.lower()}</title>'
        f'<rect x="2" y="2" width="36" height="36" rx="8" fill="{fill}" stroke="#000" stroke-width="1.5"/>'
        f'<rect x="3.5" y="3.5" width="33" height="33" rx="6.5" fill="none" stroke="{line}" '
        f'stroke-width=".8"/><g fill="{line}">{dots}</g>'
        f'<circle cx="{_MIDDLE:g}" cy="{_MIDDLE:g}" r="1.3" fill="none" stroke="{line}" stroke-width=".8"/>'
        f'<path d="{lines}" stroke="{line}" stroke-width="1.6" stroke-linecap="round"/></svg>\n'
    )


def _at(distance: float) -> str:
    """Return where on the tile something is that has a distance from its middle."""
    return f"{_MIDDLE + distance:g}"
