"""The page without a server: files for any host of static files. The page reads tables with range requests.

Pages and scripts are the same as with a server. The scripts of ``tbgen/web/page/static`` answer the requests
that a server would answer. A finished event can be included: each answer that a server would give to the
event's page is stored as a file, named after the address of the request.
"""

import hashlib
import html
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from tbgen.board.material import Material, closure
from tbgen.board.variant import Variant
from tbgen.documents import Count, Document, encoded
from tbgen.errors import NoTablesError, TbgenError, UsageError
from tbgen.exchange.publish import chosen_tables, publish
from tbgen.exchange.published import LIST_NAME, PublishedFile, PublishedSet
from tbgen.games.live_file import EventEnd, Termination
from tbgen.games.standings.record import explorer_query
from tbgen.store.schema import TABLE, DatasetSchema
from tbgen.system.files import make_directory, write_file
from tbgen.tables.files import open_table
from tbgen.tables.inventory import MAX_EXPECTED_MEN, CountedTableDocument, Entry, deepest_state
from tbgen.tables.open_table import OpenTable
from tbgen.web.live_state import EventFiles, LiveState, game_document
from tbgen.web.page_files import POLICY, page_files

EVENT_FOLDER: Final = "live"
"""The folder of an event's files on a site."""
EVENT_DOCUMENT: Final = "event.json"
"""The file that the page of the event requests first."""
_TABLES_FOLDER: Final = "tables"
"""The folder of the tables on a site."""
_EVENT_FILE_PATTERN: Final = re.compile(r"live\.(html|css|js)")
"""Matches the names of files that only a site with an event has."""
_PAGE_LINK_PATTERN: Final = re.compile(r'\b(href|data-page)="(embed|live|play|puzzles)"')
"""Matches an attribute with the address of a page. The address lacks the suffix ``.html`` of the page's file;
only our server accepts such addresses."""
_CHARSET_TAG: Final = '<meta charset="utf-8">'
_BLOCKING_TAG_PATTERN: Final = re.compile(
    r'<link rel="stylesheet" href="page/([^"]+)">|<script src="page/([^"]+)"></script>'
)
"""Matches the tag of a file that a browser has to load before it shows anything."""


class Archive:
    """A finished event, read from its live file and its PGN file.

    :param pgn: the PGN file.
    :raises UsageError: if the event has neither a live file nor a finished game, or is still being played.
    """

    def __init__(self, pgn: Path) -> None:
        self._files = EventFiles(pgn)
        self._state = LiveState()
        _, lines = self._files.read()
        for line, games in lines:
            self._state.apply(line, games)
        abandoned = self._files.is_abandoned
        self._files.live.close()
        if self._state.start is None:
            raise UsageError(
                f"there is no event in {pgn}: it has no finished game of tbgen match, and no live file"
            )
        if self._state.termination is None:
            if not abandoned:
                raise UsageError(f"the event of {pgn} is still being played: publish it when it is over")
            self._state.apply(EventEnd(Termination.GONE), ())
        self._state.update_standings(self._state.unranked_games)
        self._start = self._state.start

    def write(self, target: Path) -> None:
        """Write the answers to the page's requests. The file that the page requests first is written last.

        :param target: the directory of the site.
        :raises TbgenError: if a file cannot be written.
        """
        make_directory(target / EVENT_FOLDER / "games")
        for name, data in self._answers():
            write_file(target / EVENT_FOLDER / name, data)

    def _answers(self) -> Iterator[tuple[str, bytes]]:
        texts = list[bytes]()
        for key, span in self._state.spans.items():
            pgn = self._files.read_span(span)
            texts.append(pgn.strip() + b"\n")
            yield f"games/{key}.pgn", texts[-1]
            yield f"games/{key}.json", encoded(game_document(pgn, self._files.options))
            yield f"games/{key}.html", _redirect_page(f"../../{explorer_query(pgn, self._start.rules)}")
        yield "event.pgn", b"\n".join(texts)
        document = self._state.document()
        listed_games = document.finished.games
        while listed_games and (first_number := listed_games[-1].number) > 1:
            games = self._state.finished_games(first_number)
            yield f"games-{first_number}.json", encoded(games)
            listed_games = games.games
        yield EVENT_DOCUMENT, encoded(document)


def _redirect_page(address: str) -> bytes:
    """Return a page that redirects to another one."""
    link = html.escape(address)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n<title>tbgen</title>\n'
        f'<meta http-equiv="refresh" content="0; url={link}">\n<a href="{link}">The game</a>\n</html>\n'
    ).encode()


class PiecesDocument(Document):
    """The location of a dataset in the file of its table, in pieces (chunks of HDF5).

    A piece is a zlib stream followed by a checksum of 4 bytes.
    """

    type: str
    """Type of the elements: ``u1``, ``u2``, ``u8`` or ``i4``, little-endian."""
    length: Count
    """Number of elements in a full piece."""
    pieces_per_row: Count
    """Number of pieces in a row. A row runs along the last axis of the dataset; there is one for each
    combination of indices of the other axes."""
    pieces: list[list[int]]
    """The pieces of all rows in order, in groups of contiguous pieces. A group is a list of the offset of its
    first piece and the number of bytes of each piece. A piece of 0 bytes is not stored; its elements are
    zeros."""


class SiteTableDocument(CountedTableDocument):
    """A table, with the data that the page needs to read it in pieces."""

    free_men: str
    pawns: str
    size: Count
    phase_size: Count
    """Attributes of the file."""
    datasets: dict[str, PiecesDocument]
    """For each dataset, the location of its data."""


def write_site(
    directory: Path,
    target: Path,
    variants: Iterable[Variant],
    materials: Iterable[Material] | None = None,
    *,
    event: Path | None = None,
    show: Callable[[PublishedFile, int, int], None] = lambda *_: None,
) -> PublishedSet:
    """Write or rewrite the page with tables for a host of static files.

    The tables are published as a set (:func:`tbgen.exchange.publish.publish`), which can also be fetched. An
    event that is already on the site is kept unless ``event`` replaces it.

    :param materials: materials of the tables, to which their sub-tables are added; None for all tables of up
        to four men.
    :param event: the PGN file of a finished event that the site also shows.
    :param show: called with each published table, its number, and the number of tables.
    :raises UsageError: if the target has files that do not belong to a site, a table has more than four men
        or is packed, or the event does not exist or is still being played.
    :raises NoTablesError, MissingTableError, DamagedTableError: see :func:`~tbgen.exchange.publish.publish`.
    :raises TbgenError: if a file cannot be written.
    """
    _require_site(target)
    archive = None if event is None else Archive(event)
    site_tables = _site_tables(directory, tuple(variants), materials)
    tables = target / _TABLES_FOLDER
    for variant in sorted({variant for _, variant in site_tables}):
        variant_materials = [material for material, rules in site_tables if rules is variant]
        published = publish(directory, tables, [variant], variant_materials, report=show)
    for table in published.tables:
        write_file(
            tables / f"{table.material}.{table.rules}.json",
            _table_document(tables / table.file, table.parsed_material),
        )
    if archive is not None:
        archive.write(target)
    _write_page(target)
    return published


def _require_site(target: Path) -> None:
    """Check that a directory is empty, absent or a site.

    :raises UsageError: if it has other files.
    :raises TbgenError: if it cannot be read.
    """
    try:
        others = {path.name for path in target.iterdir()} - {_TABLES_FOLDER}
    except (FileNotFoundError, NotADirectoryError):  # a file is reported when the directory is made
        return
    except OSError as error:
        raise TbgenError(f"{target} cannot be read: {error.strerror}") from None
    if others and not (target / _TABLES_FOLDER / LIST_NAME).exists():
        raise UsageError(f"{target} has other files: choose an empty directory or that of an earlier site")


def _site_tables(
    directory: Path, variants: Sequence[Variant], materials: Iterable[Material] | None
) -> list[tuple[Material, Variant]]:
    """Return the material and the variant of each table that a site has.

    :raises UsageError: if a named table has too many men.
    """
    named_materials = None if materials is None else closure(materials)
    large = [material.name for material in named_materials or () if material.men > MAX_EXPECTED_MEN]
    if large:
        raise UsageError(
            f"{large[-1]} has more than {MAX_EXPECTED_MEN} men, and the page of a site reads plain tables: "
            "serve larger ones with tbgen serve"
        )
    tables = chosen_tables(directory, variants, named_materials)
    small_tables = [(material, variant) for material, variant in tables if material.men <= MAX_EXPECTED_MEN]
    if not small_tables:
        raise NoTablesError(directory, variants[0])
    return small_tables


def _table_document(path: Path, material: Material) -> bytes:
    """Return the page's document about a table, as JSON.

    :raises UsageError: if the table is packed.
    """
    with open_table(path, material) as table:
        info = table.info
        if info.derives:
            raise UsageError(f"{path} is packed, and the page of a site reads plain tables: leave it out")
        counted = Entry(material, info, tuple(table.counts()), deepest_state(table)).document()
        pieces = {dataset.name: _pieces(table, dataset) for dataset in TABLE.datasets}
        return encoded(SiteTableDocument.of(counted, info, datasets=pieces))


def _pieces(table: OpenTable, schema: DatasetSchema) -> PiecesDocument:
    array = table.array(schema)
    pieces = list(_joined_extents(array.places.tolist()))
    return PiecesDocument(array.dtype.str.lstrip("<|"), array.chunk_size, array.chunks_per_row, pieces)


def _joined_extents(extents: Iterable[tuple[int, int]]) -> Iterator[list[int]]:
    """Yield groups of contiguous extents: the offset of the first extent, then the size of each.

    :param extents: the offset and the size of each extent, in bytes.
    """
    end = -1
    group = list[int]()
    for offset, size in extents:
        if group and (offset == end or not size):
            group.append(size)
        else:
            if group:
                yield group
            group = [offset, size]
        end = offset + size if size else end
    if group:
        yield group


def _write_page(target: Path) -> None:
    """Write pages, scripts and styles; ``index.html`` is written last."""
    has_event = (target / EVENT_FOLDER / EVENT_DOCUMENT).exists()
    files = page_files(["live", "static"] if has_event else ["static"])
    if not has_event:
        files = {name: data for name, data in files.items() if not _EVENT_FILE_PATTERN.fullmatch(name)}
    pages = [name for name in files if name.endswith(".html")]
    for name in files.keys() - pages:
        path = target / "page" / name
        make_directory(path.parent)
        write_file(path, files[name])
    for name in sorted(pages, key=lambda name: name == "index.html"):
        write_file(target / name, _standalone_page(files[name].decode(), files).encode())


def _standalone_page(page: str, files: Mapping[str, bytes]) -> str:
    """Return a page for a host that sends none of our headers and needs the full names of files.

    Styles, and the script that must run first, are inlined, because a browser shows nothing until it has
    them.
    """
    hashes: dict[str, list[str]] = {"style": [], "script": []}

    def inline(match: re.Match[str]) -> str:
        tag, text = ("style", files[match[1]]) if match[1] else ("script", files[match[2]])
        hashes[tag].append(f"'sha256-{b64encode(hashlib.sha256(text).digest()).decode()}'")
        return f"<{tag}>{text.decode()}</{tag}>"

    page = _BLOCKING_TAG_PATTERN.sub(inline, page)
    policy = POLICY
    for tag, tag_hashes in hashes.items():
        policy = policy.replace(f"{tag}-src 'self'", " ".join([f"{tag}-src 'self'", *tag_hashes]))
    head = f'{_CHARSET_TAG}\n<meta http-equiv="Content-Security-Policy" content="{policy}">'
    return _PAGE_LINK_PATTERN.sub(r'\1="\2.html"', page).replace(_CHARSET_TAG, head, 1)
