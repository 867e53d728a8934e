"""``tbgen cache``: the compiled kernels on disk."""

from pathlib import Path

from tbgen.cli.options import AsJson, command
from tbgen.cli.streams import print_document
from tbgen.compiler.cache import cached_kernels
from tbgen.compiler.cache import clear as clear_cache
from tbgen.documents import Document
from tbgen.system.files import write_errors
from tbgen.text import size_text


class CacheDocument(Document):
    """The directory and the sizes of compiled kernels on disk, in bytes."""

    directory: Path
    current_bytes: int
    other_bytes: int
    cleared: bool


@command
def run(*, clear: bool, json: AsJson) -> None:
    """Print where compiled kernels are stored and how large they are, or remove them.

    Kernels are stored in $NUMBA_CACHE_DIR/kernels if that variable is set, else in the folder tbgen/kernels
    of $XDG_CACHE_HOME or ~/.cache. macOS and Windows have other directories for caches. Removed kernels are
    compiled again when they are needed. tbgen stores no other files outside the directories of tables.

    \b
    For example:
      tbgen cache
      tbgen cache --clear

    :param clear: remove the kernels of all versions
    :param json: print directory and sizes as one JSON document
    """
    kernels = cached_kernels()
    if clear:
        with write_errors(kernels.directory, remedy="remove it by hand"):
            clear_cache()
    if json:
        print_document(CacheDocument.of(kernels, cleared=clear), indent=None)
        return
    removed = "removed " if clear else ""
    sizes = f"{size_text(kernels.current_bytes)} of this version, {size_text(kernels.other_bytes)} of others"
    print(f"{kernels.directory}: {removed}{sizes}")
