"""Pictures of positions as bitmaps: PNG for previews of links, GIF for lines. All functions block."""

import io
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import chess
from PIL import Image, ImageDraw, ImageFont

from tbgen.board.kinds import MEN_LETTERS
from tbgen.html.style import style_sheet

MEN_SIZE: Final = 120
"""Width and height of a man in :data:`MEN_FILE`, in pixels."""
MEN_FILE: Final = Path(__file__).with_name("men.png")
"""The image of all men, made by ``scripts/men.py``: White's in the order of ``MEN_LETTERS``, then Black's
below."""

CARD_SIZE: Final = (1200, 630)
"""Width and height, in pixels, of a picture that link previews show uncropped [1].

[1] https://ogp.me and the documentation of Facebook and X.
"""
_SQUARE_SIZE: Final = 70
_EDGE_WIDTH: Final = (CARD_SIZE[1] - 8 * _SQUARE_SIZE) // 2
_GIF_SQUARE_SIZE: Final = 50
_SENTENCE_SIZE: Final = 42
_NOTES_SIZE: Final = 30
"""Sizes of fonts of a card in pixels."""
_HEADLINE_TOP: Final = 70
_SENTENCE_TOP: Final = 230
_NOTES_TOP: Final = 480
_SIGNATURE_TOP: Final = 600 - _EDGE_WIDTH
"""Distance of each text of a card from the upper edge, in pixels."""
_TEXT_HEIGHT: Final = 40
"""Height of the text under the board of a GIF, in pixels."""
_FRAME_MS: Final = 900
_LAST_FRAME_MS: Final = 3000
_COLOUR_COUNT: Final = 64
_PAPER: Final = "#fbfaf6"
_INK: Final = "#1c1c1c"
_SECONDARY_INK: Final = "#55595e"
_MARK_COLOUR: Final = "#c9a227"
"""Colour laid over the squares of the last move."""


class ShownPosition(NamedTuple):
    """A position to draw, and how to draw it."""

    board: chess.Board
    move: chess.Move | None = None
    """The move that led to the position."""
    flipped: bool = False
    """Whether Black is at the bottom."""


class Caption(NamedTuple):
    """The text next to a position."""

    headline: str
    """Short text in large type, such as ``G1.5``."""
    sentence: str
    notes: str = ""
    """Text in small type below the sentence."""


def card_png(position: ShownPosition, caption: Caption) -> bytes:
    """Return a position with its caption, as PNG."""
    picture = Image.new("RGB", CARD_SIZE, _PAPER)
    picture.paste(_board_image(position, _SQUARE_SIZE), (_EDGE_WIDTH, _EDGE_WIDTH))
    draw = ImageDraw.Draw(picture)
    left = 8 * _SQUARE_SIZE + 2 * _EDGE_WIDTH + 10
    width = CARD_SIZE[0] - left - _EDGE_WIDTH
    draw.text((left, _HEADLINE_TOP), caption.headline, _INK, _font(120 if len(caption.headline) < 7 else 96))
    sentence = _wrap(caption.sentence, _font(_SENTENCE_SIZE), width)
    draw.multiline_text((left, _SENTENCE_TOP), sentence, _INK, _font(_SENTENCE_SIZE), spacing=14)
    notes = _wrap(caption.notes, _font(_NOTES_SIZE), width)
    draw.multiline_text((left, _NOTES_TOP), notes, _SECONDARY_INK, _font(_NOTES_SIZE), spacing=8)
    draw.text((left, _SIGNATURE_TOP), "tbgen · r-mobility chess", _SECONDARY_INK, _font(_NOTES_SIZE))
    return _encode(picture, "PNG")


def animated_gif(frames: Sequence[tuple[ShownPosition, str]]) -> bytes:
    """Return positions, each with text below it, as an animated GIF that repeats.

    :param frames: the positions and texts, at least one.
    """
    size = 8 * _GIF_SQUARE_SIZE
    # A sample with all men and all colours of squares determines the palette.
    sample = ShownPosition(chess.Board(), chess.Move(chess.A3, chess.B3))
    palette_image = _board_image(sample, _GIF_SQUARE_SIZE).quantize(_COLOUR_COUNT)
    pictures = list[Image.Image]()
    for position, text in frames:
        picture = Image.new("RGB", (size, size + _TEXT_HEIGHT), _PAPER)
        picture.paste(_board_image(position, _GIF_SQUARE_SIZE), (0, 0))
        ImageDraw.Draw(picture).text((10, size + 8), text, _INK, _font(20))
        pictures.append(picture.quantize(palette=palette_image, dither=Image.Dither.NONE))
    durations = [*[_FRAME_MS] * (len(pictures) - 1), _LAST_FRAME_MS]
    return _encode(pictures[0], "GIF", save_all=True, append_images=pictures[1:], duration=durations, loop=0)


def _encode(picture: Image.Image, image_format: str, **options: object) -> bytes:
    file = io.BytesIO()
    picture.save(file, image_format, **options)
    return file.getvalue()


def _board_image(position: ShownPosition, size: int) -> Image.Image:
    """Return a picture of a board. ``size`` is the width of a square in pixels."""
    light, dark = _square_colours()
    picture = Image.new("RGB", (8 * size, 8 * size), light)
    draw = ImageDraw.Draw(picture, "RGBA")
    men = _man_images(size)
    marked_squares = () if position.move is None else (position.move.from_square, position.move.to_square)
    for square in chess.SQUARES:
        file, rank = chess.square_file(square), chess.square_rank(square)
        column, row = (7 - file, rank) if position.flipped else (file, 7 - rank)
        box = (column * size, row * size, (column + 1) * size - 1, (row + 1) * size - 1)
        if (file + rank) % 2 == 0:
            draw.rectangle(box, dark)
        if square in marked_squares:
            draw.rectangle(box, f"{_MARK_COLOUR}70")
        man = position.board.piece_at(square)
        if man is not None:
            picture.paste(men[man.symbol()], box[:2], men[man.symbol()])
    return picture


@cache
def _square_colours() -> tuple[str, str]:
    """Return the colours of light and dark squares, as on the page in its light scheme."""
    colours = dict(re.findall(r"--(light|dark)square: light-dark\((#\w+)", style_sheet()))
    return colours["light"], colours["dark"]


@cache
def _man_images(size: int) -> dict[str, Image.Image]:
    """Return the picture of each man, keyed by the man's letter in FENs. ``size`` is the width and height in
    pixels."""
    with Image.open(MEN_FILE) as file:
        sheet = file.convert("RGBA")
    men = {}
    for row, letters in enumerate((MEN_LETTERS, MEN_LETTERS.lower())):
        for column, letter in enumerate(letters):
            left, top = column * MEN_SIZE, row * MEN_SIZE
            man = sheet.crop((left, top, left + MEN_SIZE, top + MEN_SIZE))
            men[letter] = man.resize((size, size), Image.Resampling.LANCZOS)
    return men


@cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(size)
    assert isinstance(font, ImageFont.FreeTypeFont)
    return font


def _wrap(text: str, font: ImageFont.FreeTypeFont, width: int) -> str:
    """Return a text wrapped to the given width in pixels; a word wider than that stays whole."""
    lines = [""]
    for word in text.split():
        extended_line = f"{lines[-1]} {word}".strip()
        if lines[-1] and font.getlength(extended_line) > width:
            lines.append(word)
        else:
            lines[-1] = extended_line
    return "\n".join(lines)
