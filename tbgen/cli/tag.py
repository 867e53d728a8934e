"""``tbgen tag``: write results and points into PGN files."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

from tbgen.cli.games import AdjudicationOptions, GameRun
from tbgen.cli.options import AsJson, Setting, command
from tbgen.cli.streams import print_document, say
from tbgen.errors import UsageError
from tbgen.games.outcome import Basis
from tbgen.games.pgn.files import is_stream, matching_files, open_for_writing
from tbgen.games.tagging import Tally
from tbgen.system.files import make_directory
from tbgen.text import counted

_MAX_BUFFERED_BYTES: Final = 16 << 20
"""Maximum size of broken games that are buffered before the first readable game, if OUT is a stream."""
_EMPTY_LINE: Final = re.compile(rb"(?:\r\n|\n|\r){2}\Z")


class _UnreadableError(UsageError):
    """There is no game for an output file, or none that can be read."""


@command
def run(
    *names: Annotated[str, Setting(metavar="IN.pgn... OUT.pgn")],
    json: AsJson,
    adjudication: AdjudicationOptions,
) -> int:
    """Write the r-mobility result of every game into its tags.

    The tags are RMobilityResult, Points, RMobilityCutoff, RMobilityScoring, Komi (if it counts), the 50-move
    rule by which the game was refereed, and the basis of the result. The basis names how the game ended, or
    is "tablebase" for the exact value of a stopped game. If that value is not known, the accrued score is the
    result. The basis is then "table missing" if a table could hold the final position, else "played". With
    --rules wg the names of these tags begin with WGMobility.

    With --syzygy the basis is "syzygy", and the result G0.0, if Syzygy files show that a side can force mate.
    If they show that nobody can, the value is bounded by -G0.5 and G0.5.

    With --solve the positions that no table holds are solved as by tbgen solve. The basis is then "solved"
    for an exact value. If only an interval is proved, the result is the accrued score if the interval
    contains it, otherwise the score in the interval that is nearest to it. If all scores in the interval
    give the same points, the basis is "bounded". If the points differ and the accrued score is outside the
    interval, the basis is "nearest bound", and the result is not proven. The tag RMobilityBounds contains
    the proved interval, if there is one.

    The tag RMobilityDoubts says what is doubtful about a game, such as "truncated" (docs/referee.md has
    the list). A truncated game that nobody has won gets its accrued score as the result, with the basis
    "played", because its last position is not known. A game that both sides have lost (0-0) is treated alike.

    Existing tags of these names are replaced. Everything else is copied byte for byte, the classical Result
    included. Games that cannot be read are reported and copied unchanged. If no game can be read, nothing is
    written, with one exception: if OUT is standard output, a device or a pipe, and the games exceed 16 MiB,
    all of them are copied unchanged.

    The games of several files, or of patterns such as "round*.pgn", are written to OUT in the order in
    which the files are named (those of a pattern alphabetically). If OUT is a directory, or ends in a slash,
    the games of each file are written to a file of the same name there. With several input files, OUT must
    not be an existing file.

    IN and OUT may be - for standard input and output. Compressed input (gzip, bzip2, xz, zstd) is accepted;
    OUT is compressed if its name ends in .gz, .bz2, .xz or .zst. OUT gets its final name when it is complete.

    \b
    For example:
      tbgen tag games.pgn tagged.pgn
      tbgen tag "round*.pgn.gz" season.pgn.gz
      tbgen tag season.pgn.zst tagged.pgn.zst --jobs 8 --scoring komi --komi G5.75
      zcat games.pgn.gz | tbgen tag - - | less
      tbgen tag games.pgn tagged.pgn --solve --solve-results results.jsonl

    :param names: files of games, followed by the file or directory for the tagged games; with one IN, OUT may
        be the same file
    :param json: print counts of the games as one JSON document instead of a line on stderr
    """
    if len(names) < 2:
        raise UsageError("name files to tag, and last the one to write; see: tbgen tag --help")
    sources = matching_files(names[:-1])
    target = names[-1]
    if json and target == "-":
        raise UsageError("--json prints to standard output, where the games go too: name a file for games")
    outputs = _outputs(sources, target)
    exit_code = 0
    with adjudication.open_run(sources, "left as it is") as game_run:
        game_run.solve()
        for output, inputs in outputs.items():
            try:
                _tag(inputs, output, game_run)
            except _UnreadableError as error:
                if len(outputs) == 1:
                    raise
                say(f"tbgen: {error}")
                exit_code = error.exit_code
    game_run.say_remarks()
    if json:
        print_document(game_run.document(sources=sources, target=target))
    else:
        say(f"tbgen: {_summary(game_run.tally)}")
    return exit_code


def _outputs(sources: list[str], target: str) -> dict[str, list[str]]:
    """Return, for each file to write, the files whose games it gets.

    :raises UsageError: if the target cannot hold the games.
    :raises TbgenError: if a directory cannot be made.
    """
    if target.endswith((os.sep, "/")):
        make_directory(Path(target))
    if os.path.isdir(target):
        outputs = {os.path.join(target, os.path.basename(source)): [source] for source in sources}
        if len(outputs) < len(sources) or "-" in sources:
            raise UsageError(f"{target} is a directory: name files for it that have different names")
        return outputs
    if len(sources) > 1 and os.path.isfile(target):
        raise UsageError(f"{target} exists already: name a new file for all games, or remove it")
    return {target: sources}


def _tag(sources: list[str], target: str, game_run: GameRun) -> None:
    """Write the tagged games of some files into one file.

    :raises _UnreadableError: if there is no game, or none can be read.
    """
    buffered_games: list[bytes] = []
    tally = game_run.tally
    size = 0
    buffer_limit = _MAX_BUFFERED_BYTES if is_stream(target) else 0
    earlier_game_count = tally.games
    earlier_broken_count = tally.broken
    with open_for_writing(target) as sink:
        for data in _tagged_bytes(sources, game_run):
            buffered_games.append(data)
            size += len(data)
            # Before the first readable game, it is still possible that no game can be read.
            if tally.games > earlier_game_count or size > buffer_limit:
                sink.write(b"".join(buffered_games))
                buffered_games.clear()
        if tally.games == earlier_game_count:
            name = {1: "standard input" if sources == ["-"] else sources[0]}.get(len(sources), "these files")
            fate = "so all were copied unchanged" if size > buffer_limit > 0 else "so nothing is written"
            is_broken = tally.broken > earlier_broken_count
            fault = f"no game of {name} can be read" if is_broken else f"there is no game in {name}"
            raise _UnreadableError(f"{fault}, {fate}")
        sink.write(b"".join(buffered_games))


def _tagged_bytes(sources: list[str], game_run: GameRun) -> Iterator[bytes]:
    """Yield the bytes of the tagged games of some files, with an empty line between two files."""
    tail = b""
    for source in sources:
        gap = b"" if not tail or _EMPTY_LINE.search(tail) else b"\n\n"[tail.endswith(b"\n") :]
        for game in game_run.games(source):
            yield gap + game.data
            gap = b""
            tail = game.data[-4:]


def _summary(tally: Tally) -> str:
    text = f"{counted(tally.games, 'game')} tagged"
    names = {basis: basis.value for basis in Basis} | {Basis.TABLE_MISSING: "with a table missing"}
    bases = ", ".join(f"{tally.bases[basis]:,} {name}" for basis, name in names.items() if tally.bases[basis])
    if bases:
        text += f" ({bases})"
    unknown = tally.unknown_scorings.total()
    if unknown:
        text += f", {unknown:,} of an unknown scoring with exponential points"
    if tally.broken:
        text += f", {tally.broken:,} broken and left as {'they are' if tally.broken > 1 else 'it is'}"
    return text
