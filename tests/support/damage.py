"""Damage to files of tables, and the errors that it must cause."""

import os
import signal
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import pytest

from tbgen.board.material import Material
from tbgen.errors import DamagedTableError
from tbgen.store.dataset import AnyArray
from tbgen.store.format import GZIP_LEVEL
from tbgen.store.schema import Schema
from tbgen.tables.files import open_table

Change = Callable[[h5py.File], object]


def refused(path: Path, *words: str, reader: Callable[..., Any] = open_table) -> None:
    """Check that opening and checking the file raises an error with these words, the file and a remedy."""
    with pytest.raises(DamagedTableError) as caught, reader(path, material=Material.parse("KNvK")) as file:
        file.check()
    sentence = str(caught.value)
    for word in (str(path), f"tbgen build --force KNvK --dir {path.parent}", *words):
        assert word in sentence
    assert "\n" not in sentence


def edit(path: Path, change: Change) -> None:
    with h5py.File(path, "r+") as file:
        change(file)


def set_attribute(name: str, value: object) -> Change:
    return lambda file: file.attrs.__setitem__(name, value)


def other_versions(schema: Schema) -> list[tuple[Change, str]]:
    """Return the changes to a later and an earlier version, each with words of the error."""
    now = schema.version
    later = f"format version {now + 1} and this tbgen reads version {now}"
    earlier = f"its format version {now - 1} is that of an older tbgen"
    return [
        (set_attribute("format_version", now + 1), later),
        (set_attribute("format_version", now - 1), earlier),
    ]


def replaced(name: str, change: Callable[[AnyArray], AnyArray]) -> Change:
    """Return a change that replaces a dataset."""

    def replace(file: h5py.File) -> None:
        data = change(file[name][...])
        del file[name]
        plain = name.endswith("data") or not data.size
        packing = {} if plain else {"compression": GZIP_LEVEL, "fletcher32": True, "chunks": data.shape}
        file.create_dataset(name, data=data, **packing)

    return replace


def turn_a_bit(data: AnyArray) -> AnyArray:
    data.flat[data.size // 2] ^= 1
    return data


def shape_but(*places: Any) -> Callable[[AnyArray], AnyArray]:
    return lambda data: data[places]


def killed(work: Callable[[], object], material: str, moment: str) -> None:
    """Run a function in a copy of this process, which is killed at a point in the writing of a table's file.

    :param moment: the creation of a dataset of this name, or ``replace``, by which the file gets its name.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # what other threads hold is not needed there
        child = os.fork()
    if child == 0:
        try:
            _die_at(material, moment)
            work()
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def _die_at(material: str, moment: str) -> None:
    replace, create, patch = os.replace, h5py.Group.create_dataset, pytest.MonkeyPatch()

    def replacing(source: Path, target: Path) -> None:
        if material in str(target) and moment == "replace":
            os.kill(os.getpid(), signal.SIGKILL)
        replace(source, target)

    def creating(group: h5py.Group, name: str, *rest: Any, **options: Any) -> Any:
        if material in group.file.filename and name == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        return create(group, name, *rest, **options)

    patch.setattr(os, "replace", replacing)
    patch.setattr(h5py.Group, "create_dataset", creating)
