"""Processes that tests start, ask and end.

They take SIGINT, SIGTERM and SIGHUP as those started from a terminal do, however the tests themselves were
started: in the background (``nohup scripts/test &``) they ignore SIGINT, and children inherit that.
"""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from tbgen.system.signals import END_SIGNALS

SCRIPT = """
import os, signal, sys, time
import h5py
from tbgen.cli import entry_point

def stop():
    print("stopped", flush=True)
    {action}

replace, create = os.replace, h5py.Group.create_dataset

def replacing(source, target):
    if "{material}" in str(target) and "{moment}" == "replace":
        stop()
    replace(source, target)

def creating(group, name, *rest, **options):
    if "{material}" in group.file.filename and name == "{moment}":
        stop()
    return create(group, name, *rest, **options)

os.replace, h5py.Group.create_dataset = replacing, creating
entry_point()
"""


def stopping(material: str, moment: str, action: str) -> str:
    """A program that runs the command and does something when the file of a table comes to some point."""
    return SCRIPT.format(material=material, moment=moment, action=action)


def start(command: Sequence[str], **options: Any) -> "subprocess.Popen[Any]":
    """Start a process that does not ignore the signals which interrupt and terminate it."""
    # Whoever handles a signal leaves it at its default to those it starts; who ignores it does not.
    found = {number: signal.getsignal(number) for number in END_SIGNALS}
    ignored = [number for number, handler in found.items() if handler == signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.default_int_handler)
    try:
        return subprocess.Popen(command, **options)
    finally:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def started(*words: str, **options: Any) -> Iterator["subprocess.Popen[str]"]:
    """``python -m words`` as a process with its streams in pipes, killed with the block if it still runs.

    Its working directory is another one than that of the tests, and it finds the package where they do.
    """
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    words = words if words[0] == "-c" else ("-m", *words)
    with start([sys.executable, *words], text=True, cwd="/", **pipes, **options) as running:
        try:
            yield running
        finally:
            running.kill()


def wait_for(running: "subprocess.Popen[str]", text: str, stream: str = "stdout") -> str:
    """The first line of a stream with a text.

    :raises AssertionError: with what was said instead, if the stream ends without it.
    """
    said = []
    for line in getattr(running, stream):
        said.append(line)
        if text in line:
            return str(line)
    raise AssertionError("".join(said) + (running.stderr.read() if running.stderr else ""))


def end(running: "subprocess.Popen[str]") -> tuple[int, str]:
    """Exit code and standard error."""
    _, error = running.communicate(timeout=300)
    return running.returncode, error
