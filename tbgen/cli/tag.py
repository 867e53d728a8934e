"""``tbgen tag``: results and points into PGN files."""

from typing import Annotated, Final

from tbgen.cli.games import AdjudicationOptions
from tbgen.cli.options import AsJson, Setting, command
from tbgen.cli.streams import print_json, say
from tbgen.errors import UsageError
from tbgen.games.outcome import Basis
from tbgen.games.pgn.files import is_stream, reading, writing
from tbgen.games.tagging import Tally
from tbgen.text import counted

_HELD: Final = 16 << 20
"""Bytes of broken games that wait for one that is not, where what is written cannot be taken back."""


@command
def run(
    source: Annotated[str, Setting(metavar="IN.pgn")],
    target: Annotated[str, Setting(metavar="OUT.pgn")],
    *,
    json: AsJson,
    adjudication: AdjudicationOptions,
) -> None:
    """Add to every game its r-mobility result as tags.

    The tags are RMobilityResult, Points, RMobilityCutoff, RMobilityScoring, Komi (if it counts), the 50-move
    rule by which the game was refereed, and the basis of the result. The basis is the end of the game, or
    tablebase for the exact value of a stopped game. If the accrued score counts as the result, the basis is
    played if no table can hold the final position, or table missing if a table could. With --rules wg these
    tags begin with WGMobility.

    With --syzygy the basis is syzygy, and the result G0.0, if Syzygy files tell that a side can force mate.
    If they tell that nobody can, the value is bounded by -G0.5 and G0.5.

    With --solve these positions are solved as by tbgen solve. The basis is then solved for an exact value,
    and bounded if an interval is proved whose scores all give the same points; the result is then the score
    of the interval that is nearest to the accrued score. If the points differ and the accrued score is
    outside the interval, this score counts too, with the basis nearest bound, and is not proven. The tag
    RMobilityBounds has every interval.

    Existing tags of these names are replaced. Everything else stays byte for byte, the classical Result
    included. Games that cannot be read are reported and copied unchanged. If there are no other games,
    nothing is written (except that standard output, a device or a pipe gets such games once they exceed 16
    MiB).

    IN and OUT may be - for standard input and output. Compressed input (gzip, bzip2, xz, zstd) is accepted;
    OUT is compressed if its name ends in .gz, .bz2, .xz or .zst. OUT gets its name when it is complete.

    \b
    For example:
      tbgen tag games.pgn tagged.pgn
      tbgen tag season.pgn.zst tagged.pgn.zst --jobs 8 --scoring komi --komi G5.75
      zcat games.pgn.gz | tbgen tag - - | less
      tbgen tag games.pgn tagged.pgn --solve --solve-results results.jsonl

    :param source: the games
    :param target: file for the tagged games; may be IN itself
    :param json: print counts of the games as one JSON document, instead of a line on stderr
    """
    if json and target == "-":
        raise UsageError("--json prints to standard output, where the games go too: name a file for them")
    with adjudication.adjudicating([source]) as work, reading(source) as games, writing(target) as sink:
        tally = work.tally
        held: list[bytes] = []
        size, room = 0, _HELD if is_stream(target) else 0
        for game in work.games(games, "left as it is"):
            held.append(game.data)
            size += len(game.data)
            if tally.games or size > room:  # else there may be nothing to write
                sink.write(b"".join(held))
                held.clear()
        if tally.broken and not tally.games:
            fate = "they went on as they are" if size > room > 0 else "so nothing is written"
            raise UsageError(f"no game of {games.name} can be read, {fate}")
        sink.write(b"".join(held))
    if json:
        print_json({"source": source, "target": target, **work.document()})
    else:
        say(f"tbgen: {_summary(tally)}")


def _summary(tally: Tally) -> str:
    text = f"{counted(tally.games, 'game')} tagged"
    names = {basis: basis.value for basis in Basis} | {Basis.TABLE_MISSING: "with a table missing"}
    ends = ", ".join(f"{tally.bases[basis]:,} {name}" for basis, name in names.items() if tally.bases[basis])
    if ends:
        text += f" ({ends})"
    unknown = tally.unknown_scorings.total()
    if unknown:
        text += f", {unknown:,} of an unknown scoring with exponential points"
    if tally.broken:
        text += f", {tally.broken:,} broken and left as {'they are' if tally.broken > 1 else 'it is'}"
    return text
