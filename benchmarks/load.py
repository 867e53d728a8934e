#!/usr/bin/env python3
"""Measure how fast one process of ``tbgen serve`` answers requests for positions of four men with all moves.

    python benchmarks/load.py data
    python benchmarks/load.py data --connections 8 --requests 20000 --slow 200 --json

It starts a server for the tables of a directory, requests random positions over some connections, and prints
requests per second, response times, and the memory of the server. --slow adds clients that send only one byte
per second. Client and server share the machine, so the figures include the work of the client.
"""

import argparse
import asyncio
import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote

import chess

from tbgen.board.material import Material
from tbgen.board.rules import validate
from tbgen.errors import TbgenError

MATERIALS = ("KRvKB", "KQvKR", "KPvKP", "KRPvK", "KNvKP", "KQvKP", "KBNvK", "KBvKN")
POSITIONS = 2000
WARM_UP = 200
SECONDS_TO_START = 120


@dataclass(frozen=True, slots=True)
class Load:
    """The measurements of one run."""

    requests: int
    connections: int
    slow_clients: int
    requests_per_second: float
    median_ms: float
    p99_ms: float
    longest_ms: float
    memory_before_mib: float
    memory_after_mib: float


def random_fen(rng: random.Random) -> str:
    """Return the FEN of a random legal position of four men."""
    while True:
        material = Material.parse(rng.choice(MATERIALS))
        board = chess.Board(None)
        board.turn = rng.random() < 0.5
        for names, white in ((material.white, True), (material.black, False)):
            for name in names:
                squares = [square for square in chess.SQUARES if name != "P" or 8 <= square < 56]
                free = [square for square in squares if board.piece_at(square) is None]
                board.set_piece_at(rng.choice(free), chess.Piece.from_symbol(name if white else name.lower()))
        try:
            validate(board)
        except TbgenError:
            continue
        return board.fen()


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str) -> None:
    """Request a path, and read the answer to its end."""
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    assert head.startswith(b"HTTP/1.1 200 "), head
    assert length is not None
    await reader.readexactly(int(length[1]))


async def client(port: int, paths: Sequence[str], seconds: list[float]) -> None:
    """Request paths over one connection, one after the other; add the time of each to ``seconds``."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for path in paths:
        start = time.perf_counter()
        await ask(reader, writer, path)
        seconds.append(time.perf_counter() - start)
    writer.close()


async def slow_client(port: int) -> None:
    """Send a byte a second until the server closes the connection."""
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for letter in f"GET /r?fen={'8/' * 1000}":
            writer.write(letter.encode())
            await asyncio.sleep(1)
    finally:
        writer.close()


async def measure(port: int, paths: Sequence[str], connections: int, slow: int) -> tuple[float, list[float]]:
    """Return the wall time of all requests in seconds, and the seconds of each request."""
    slow_tasks = [asyncio.create_task(slow_client(port)) for _ in range(slow)]
    await client(port, paths[:WARM_UP], [])
    times: list[float] = []
    start = time.perf_counter()
    await asyncio.gather(*(client(port, paths[index::connections], times) for index in range(connections)))
    seconds = time.perf_counter() - start
    for task in slow_tasks:
        task.cancel()
    await asyncio.gather(*slow_tasks, return_exceptions=True)
    return seconds, times


def memory_of(process: int) -> float:
    """Return the memory of a process in MiB."""
    status = Path(f"/proc/{process}/status").read_text()
    match = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert match is not None
    return int(match[1]) / 1024


def load(tables: Path, requests: int, connections: int, slow: int) -> Load:
    """Start a server, measure it, and end it."""
    command = [sys.executable, "-m", "tbgen", "serve", "--dir", str(tables), "--port", "0", "--limit", "0"]
    rng = random.Random(1)
    positions = [f"/r?fen={quote(random_fen(rng))}" for _ in range(POSITIONS)]
    paths = [rng.choice(positions) for _ in range(requests)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            first_line = server.stderr.readline()
            address = re.search(r"http://127\.0\.0\.1:(\d+)", first_line)
            if address is None:
                sys.exit(first_line + server.stderr.read())
            port = int(address[1])
            before = memory_of(server.pid)
            seconds, times = asyncio.run(measure(port, paths, connections, slow))
            after = memory_of(server.pid)
        finally:
            server.terminate()
    times.sort()
    median, p99, longest = (1000 * times[round(share * (len(times) - 1))] for share in (0.5, 0.99, 1))
    return Load(requests, connections, slow, requests / seconds, median, p99, longest, before, after)


def main() -> None:
    """Measure a server, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tables", type=Path, help="directory of tables")
    parser.add_argument("--requests", type=int, default=10_000, metavar="N")
    parser.add_argument("--connections", type=int, default=8, metavar="N")
    parser.add_argument("--slow", type=int, default=0, metavar="N", help="clients that send a byte a second")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    result = load(arguments.tables, arguments.requests, arguments.connections, arguments.slow)
    if arguments.json:
        print(json.dumps(asdict(result)))
        return
    print(
        f"{result.requests_per_second:,.0f} requests per second over {result.connections} connections; "
        f"median {result.median_ms:.1f} ms, p99 {result.p99_ms:.1f} ms, longest {result.longest_ms:.1f} ms; "
        f"memory {result.memory_before_mib:.0f} MiB, then {result.memory_after_mib:.0f} MiB"
    )


if __name__ == "__main__":
    main()
