"""How commands are declared: a typed function is a command, and its parameters are the options.

A parameter before the ``*`` is an argument; ``*names`` stands for any number of arguments. A parameter after
the ``*`` is an option. An absent option without a default is None, or False for a flag. The type of a
parameter determines how its string is parsed. A :class:`Setting` in its ``Annotated`` adds names and
attributes. A parameter whose type is an :class:`OptionGroup` stands for the options that are the fields of
the group. The help text of an option is its ``:param`` in the docstring of the function or group.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import click
from click.core import augment_usage_errors

from tbgen.board.material import MAX_MEN, Material, all_materials
from tbgen.board.score import GScore
from tbgen.board.scoring import DEFAULT_CUTOFF, DEFAULT_KOMI, Komi, Scheme, Scoring, parse_cutoff
from tbgen.board.variant import Variant
from tbgen.errors import NamedChoice, UsageError, default_directory, quote
from tbgen.text import join_words, parse_duration, parse_size

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

MAX_JOBS: Final = 512
"""Maximum number of processes or builds at once. A larger number would be a mistake on any machine."""

_NEGATIVE_VALUE: Final = re.compile(r"-(?:[G.\d]|g[.\d])")
"""Beginning of a word that is a value although it begins with a minus sign."""
_WORD_SEPARATOR: Final = "\0"
"""Separator of the words of one value while click parses them as one string."""
_DEFAULT_HEADING: Final = "Options"
"""Heading of options without another heading."""
_PARAMETER_TEXT: Final = re.compile(r"^:param (\w+): (.*(?:\n +.*)*)\n?", re.MULTILINE)
_CUTOFF_SCHEMES: Final = join_words([scheme for scheme in Scheme if scheme.definition.has_cutoff])
"""Names of the schemes that use the cutoff, as part of a sentence."""
_KOMI_SCHEMES: Final = join_words([scheme for scheme in Scheme if scheme.definition.has_komi])
"""Names of the schemes that use the komi, as part of a sentence."""

_STRIPPED_HELP: Final = (
    "Python's option -OO (PYTHONOPTIMIZE=2) removes the explanations. PYTHONOPTIMIZE=1 keeps them."
)
"""Help of commands whose docstrings Python has removed."""


class Setting:
    """The attributes of an option for click, and its names if they differ from the parameter's name.

    The attribute ``heading`` is the heading of the option in the help. It also applies to the following
    options of the same function or group, up to the next heading. In the help text, ``{}`` stands for the
    attribute ``listed``, or for all names of a :class:`ParsedType` if there is no such attribute.
    """

    def __init__(self, *names: str, **attributes: Any) -> None:
        self.attributes = attributes | ({"names": names} if names else {})


class HeadedOption(click.Option):
    """An option with the heading under which the help lists it."""

    def __init__(self, *args: Any, heading: str, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.heading = heading


class ParsedType(click.ParamType[Any]):
    """The type of parameters that a function of the package parses. Error messages come from the function.

    :param name: the placeholder of the value in the help.
    :param parse: the function, which raises a :class:`UsageError` for bad input.
    :param list_names: returns the values that a shell may complete.
    """

    def __init__(
        self, name: str, parse: Callable[[str], Any], list_names: Callable[[], Iterable[str]] = tuple
    ) -> None:
        self.name = name
        self._parse = parse
        self.list_names = list_names

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Return the name unchanged. click would capitalise it, but capitals are not accepted as values."""
        return self.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value that a string stands for. Defaults, which are not strings, are returned unchanged.

        :raises UsageError: if the string is invalid.
        """
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value.strip())
        except UsageError as error:
            if isinstance(param, click.Option):
                names = " / ".join(name for name in param.opts if name.startswith("--")) or param.opts[0]
                raise UsageError(f"{names}: {error}") from None
            raise

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the names that start with ``incomplete``."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(name) for name in self.list_names() if name.startswith(incomplete)]


class WholeNumber(click.IntRange):
    """A whole number of at least ``min``, and of at most ``max`` unless ``max`` is None."""

    name = "whole number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number.

        :raises click.BadParameter: if the string is not a whole number in the range.
        """
        try:
            if isinstance(value, str) and not (value.isascii() and "_" not in value):
                self.fail("")  # Python's int would accept it
            return super().convert(value, param, ctx)
        except click.BadParameter:
            limits = f"of at least {self.min}" if self.max is None else f"from {self.min} to {self.max}"
            self.fail(f"expected a whole number {limits}, not {value}", param, ctx)


class WordList(click.ParamType[Any]):
    """Several words that a function converts to one value.

    :param accepts: returns whether a further word belongs to the value.
    """

    name = "key=value..."

    def __init__(
        self, parse: Callable[[list[str]], Any] = list, accepts: Callable[[str], object] = lambda _: True
    ) -> None:
        self._parse = parse
        self.accepts = accepts

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value of the words."""
        return self._parse(value.split(_WORD_SEPARATOR) if isinstance(value, str) else list(value))


class Command(click.Command):
    """A command that accepts values such as -G2.5, and options with several words."""

    reword: Callable[[list[str]], list[str]] = list
    """Translates a command line before it is parsed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse a command line.

        A value that begins with a minus sign gets a space before the sign, and the words of one option are
        joined. This way, click reads them as values.

        :raises click.UsageError: if the command line is invalid, for example if an option follows an option
            that needs a value.
        """
        args = args if ctx.resilient_parsing else self.reword(args)
        params = self.get_params(ctx)
        options = {name for item in params for name in (*item.opts, *item.secondary_opts) if name[0] == "-"}
        kinds = {name: option.type for option in params if _takes_value(option) for name in option.opts}
        words: list[str] = []
        current_type: click.ParamType[Any] | None = None
        end = args.index("--") if "--" in args else len(args)
        for word in args[:end]:
            is_value = not word.startswith("-") or word == "-" or bool(_NEGATIVE_VALUE.match(word))
            last = words[-1] if words else ""
            if is_value and isinstance(current_type, WordList) and current_type.accepts(word):
                words[-1] += _WORD_SEPARATOR + word
                continue
            current_type = kinds.get(last) if is_value else None
            if not ctx.resilient_parsing and last in kinds and word in options:
                raise click.BadOptionUsage(last, f"Option {last!r} requires an argument.", ctx)
            unknown = not is_value and word[1] != "-" and last not in kinds
            if unknown and word.split("=")[0] not in options and not ctx.resilient_parsing:
                raise click.NoSuchOption(word, ctx=ctx)  # click would report only its first letter
            words.append(f" {word}" if _NEGATIVE_VALUE.match(word) and last not in kinds else word)
        with augment_usage_errors(ctx):
            return super().parse_args(ctx, words + args[end:])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options into the help, under their headings."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(ctx):
            row = option.get_help_record(ctx)
            if row is not None and isinstance(option, click.Option):
                sections.setdefault(getattr(option, "heading", _DEFAULT_HEADING), []).append(row)
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl(rows)


def _takes_value(option: click.Parameter) -> bool:
    """Return whether a parameter is an option that needs a value."""
    return isinstance(option, click.Option) and not (option.is_flag or isinstance(option.flag_value, str))


class OptionGroup:
    """Base class of dataclasses whose fields are options of commands."""


def command(function: Callable[..., int | None]) -> Command:
    """Make a command from a function. Its name comes from the module, its help from the docstring."""
    signature = inspect.signature(function)

    def run(**values: Any) -> int | None:
        bound = signature.bind_partial()
        bound.arguments.update(_arguments(function, values))
        return function(*bound.args, **bound.kwargs)

    return Command(
        function.__module__.rpartition(".")[2],
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        callback=run,
        params=list(_parameters(function)),
        help=_PARAMETER_TEXT.sub("", inspect.getdoc(function) or _STRIPPED_HELP),
    )


def _arguments(owner: Callable[..., Any], values: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a function or dataclass. Groups are made from the values of their options."""
    hints = get_type_hints(owner)
    return {
        name: kind(**_arguments(kind, values)) if _is_group(kind := hints[name]) else values[name]
        for name in inspect.signature(owner).parameters
    }


def _parameters(owner: Callable[..., Any]) -> Iterator[click.Parameter]:
    """Yield the command-line parameters for the parameters of a function or dataclass."""
    sources = owner.__mro__[::-1] if isinstance(owner, type) else [owner]
    texts = {
        name: text for item in sources for name, text in _PARAMETER_TEXT.findall(inspect.getdoc(item) or "")
    }
    hints = get_type_hints(owner, include_extras=True)
    heading = _DEFAULT_HEADING
    for name, parameter in inspect.signature(owner).parameters.items():
        kind, attributes = _attributes(hints[name])
        if _is_group(kind):
            yield from _parameters(kind)
            continue
        names = attributes.pop("names", [f"--{name.replace('_', '-')}"])
        heading = attributes.pop("heading", heading)
        listed = attributes.pop("listed", None)
        text = texts.get(name, "")
        if "{}" in text:
            text = text.replace("{}", listed or ", ".join(attributes["type"].list_names()))
        attributes.setdefault("help", " ".join(text.split()) or None)
        if parameter.default is not parameter.empty:
            attributes.setdefault("default", parameter.default)
        if parameter.kind is parameter.KEYWORD_ONLY or not inspect.isfunction(owner):
            if kind is bool:
                attributes["is_flag"] = True
            yield HeadedOption([*names, name], heading=heading, **attributes)
        else:
            nargs = -1 if parameter.kind is parameter.VAR_POSITIONAL else 1
            yield click.Argument([name], nargs=nargs, **attributes)


def _attributes(hint: Any) -> tuple[Any, dict[str, Any]]:
    """Return the type in an annotation (without None), and the attributes of the parameter for click."""
    arguments = get_args(hint)
    if get_origin(hint) is Annotated:
        kind, attributes = _attributes(arguments[0])
        for metadata in arguments[1:]:
            attributes |= metadata.attributes if isinstance(metadata, Setting) else {"type": metadata}
        return kind, attributes
    if get_origin(hint) in (Union, UnionType) and type(None) in arguments:
        return _attributes(next(member for member in arguments if member is not type(None)))
    if isinstance(hint, type) and issubclass(hint, NamedChoice):
        return hint, {"type": ParsedType("NAME", hint, lambda: hint)}
    return hint, {"type": _PARAMETER_TYPES.get(hint, hint)}


def _is_group(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, OptionGroup)


def material_list(materials: Iterable[Material], max_men: int | None) -> list[Material] | None:
    """Return the named materials and all materials of up to ``max_men`` men; None if there are none."""
    return [*materials, *(all_materials(max_men) if max_men else ())] or None


def _check_directories(
    _ctx: click.Context, _param: click.Parameter, value: Path | list[Path] | None
) -> Path | list[Path] | None:
    """Check that the given paths, or the default path, are readable directories if they exist.

    :raises UsageError: if a path exists but is not a directory, or cannot be read.
    """
    for directory in value if isinstance(value, list) else [value or default_directory()]:
        try:
            os.scandir(directory).close()
        except FileNotFoundError:
            pass
        except NotADirectoryError:
            raise UsageError(f"{directory} is not a directory; choose another with --dir") from None
        except OSError as error:
            reason = f"cannot be read: {error.strerror}"
            raise UsageError(f"{directory} {reason}; choose another with --dir") from None
    return value


def _open_syzygy(text: str) -> Any:
    """Open the Syzygy files in directories, separated by semicolons or the system's path separator."""
    from tbgen.probe.syzygy import Syzygy  # imported here, because it would slow down --help
    from tbgen.system.files import split_paths

    return Syzygy(*split_paths(text, f";{os.pathsep}"))


def _check_url(text: str) -> str:
    if not re.match(r"https?://[^\s?#]+\Z", text):
        raise UsageError(f"{quote(text)} is not an address: expected one such as https://example.org/")
    return text


def _check_link(text: str) -> str:
    """Return an address that may be relative to the first page of a site."""
    return text if re.match(r"\.{0,2}/[^\s?#]*\Z", text) else _check_url(text)


def _parse_variants(text: str) -> list[Variant]:
    return list(Variant) if text == "all" else [Variant(text)]


def _material_names() -> Iterator[str]:
    return (material.name for material in all_materials(MAX_MEN))


class _NamedPath(click.Path):
    """The type of paths. An empty name, perhaps from an unset variable, is rejected: click would take it for
    the working directory."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return (
            self.fail("the name is empty", param, ctx) if value == "" else super().convert(value, param, ctx)
        )


_PARAMETER_TYPES: Final[dict[Any, click.ParamType[Any]]] = {
    Path: _NamedPath(path_type=Path),
    Material: ParsedType("MATERIAL", Material.parse, _material_names),
    Variant: ParsedType("|".join(Variant), Variant, lambda: Variant),
    GScore: ParsedType("G", GScore.parse),
    Komi: ParsedType("G", Komi.parse),
}
"""Maps the Python type in a parameter's annotation to the click type."""

Size: TypeAlias = Annotated[int, ParsedType("SIZE", parse_size)]
"""A size in bytes."""
Time: TypeAlias = Annotated[float, ParsedType("TIME", parse_duration)]
"""A time in seconds."""
Url: TypeAlias = Annotated[str, ParsedType("URL", _check_url)]
"""The address of a site."""
Link: TypeAlias = Annotated[str, ParsedType("URL", _check_link)]
"""The address of a site; it may be relative to the first page of the site to write, such as ``../``."""
PositiveCount: TypeAlias = Annotated[int, WholeNumber(1), Setting(metavar="N")]
Directory: TypeAlias = Annotated[Path, Setting(metavar="DIR")]
AsJson: TypeAlias = Annotated[bool, Setting("--json")]
Rules: TypeAlias = Annotated[
    Variant,
    Setting(
        "--rules",
        help=", or ".join(", ".join(filter(None, (rules.label, rules.explanation))) for rules in Variant)
        + " (default: r)",
    ),
]
TableDirectory: TypeAlias = Annotated[
    Path,
    Setting(
        "--dir",
        metavar="DIR",
        default=default_directory,
        callback=_check_directories,
        help="directory of the tables (default: $TBGEN_DIR, else data)",
    ),
]
MaxMen: TypeAlias = Annotated[
    int | None, WholeNumber(2, MAX_MEN), Setting(metavar="N", help="all materials of 2 to N men")
]
MaterialOrCellName: TypeAlias = Annotated[str, ParsedType("MATERIAL", str, _material_names)]
"""The name of a material or a cell; a cell may have more men than any table."""
CellDirectory: TypeAlias = Annotated[
    Path | None,
    Setting(
        metavar="DIR",
        help="keep solved cells in a directory, created if missing, for later positions: the most recently "
        "used, up to 10 GiB",
    ),
]
SyzygyFiles: TypeAlias = Annotated[
    Any,
    ParsedType("DIR", _open_syzygy),
    Setting(
        help="directory of Syzygy files (.rtbw), or several separated by : or ;, used where tables are "
        "missing: a forced mate is G0.0; where nobody can force mate, the value is between -G0.5 and G0.5"
    ),
]
"""Open Syzygy files (:class:`tbgen.probe.syzygy.Syzygy`), or None."""
Accrued: TypeAlias = Annotated[
    GScore | None, Setting(help="accrued score, such as G3.5, -G3.5 or mG3.5 (m for minus)")
]
VariantList: TypeAlias = Annotated[
    list[Variant],
    ParsedType("|".join([*Variant, "all"]), _parse_variants, lambda: [*Variant, "all"]),
    Setting(
        "--rules",
        default="r",
        help=f"tables for {', for '.join(variant.label for variant in Variant)}, or for all (default: r)",
    ),
]
TableDirectories: TypeAlias = Annotated[
    list[Path] | None,
    WordList(lambda words: list(map(Path, words))),
    Setting("--dir", metavar="DIR...", callback=_check_directories),
]


@dataclass(frozen=True)
class ScoringOptions(OptionGroup):
    """How results become points.

    :param scheme: how results become points: {} (default: exponential; for games in files, the scoring named
        by their tag)
    :param cutoff: scores of this size or larger all count alike in the scorings {}, and do not count as
        improvements in the 50-move rule improving (default: G6.0; for games in files, the cutoff of their
        tag)
    :param komi: score to beat with the scorings {}, in quarters, such as G5.75 for White or mG5.75 for Black
        (default: G5.75; the tag Komi of a game overrides this)
    """

    scheme: Annotated[Scheme | None, Setting("--scoring")]
    cutoff: Annotated[GScore | None, ParsedType("G", parse_cutoff), Setting(listed=_CUTOFF_SCHEMES)]
    komi: Annotated[Komi | None, Setting(listed=_KOMI_SCHEMES)]

    @property
    def scoring(self) -> Scoring:
        """The scoring that the options select.

        :raises UsageError: if the options contradict each other.
        """
        return Scoring(
            self.scheme or Scheme.EXPONENTIAL, self.cutoff or DEFAULT_CUTOFF, self.komi or DEFAULT_KOMI
        )
