"""How quick a command is there: beside a bare click program with as many commands."""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from measuring import Figure, Samples, Size, interleaved, python
from stage import Stage, make_stage

from harness.cli.group import COMMANDS
from harness.core.frames import WriteAnswer, encode_reply

HELP_GOAL = 1.3
CLIENT_GOAL = 1.5

_BARE = f"""
import click

@click.group()
def root():
    \"\"\"Do nothing, in as many ways.\"\"\"

def add(name):
    @root.command(name=name, help="One line of help.")
    @click.argument("key", required=False)
    @click.option("--reason")
    def command(key, reason):
        click.echo("done")

for name in {list(COMMANDS)!r}:
    add(name)
root()
"""
_HARNESS = "from harness.cli import main; main()"


def measure_start(size: Size, folder: Path) -> list[Figure]:
    """Measure `--help`, an agent's write through its door, and what a person asks for often."""
    stage = make_stage(folder)
    stage.job("quick")
    bare, script = folder / "bare.py", folder / "console.py"
    bare.write_text(_BARE, encoding="utf-8")
    script.write_text(_HARNESS, encoding="utf-8")
    python(script, "run", "quick", environment=stage.environment)

    def harness(*words: str, environment: dict[str, str] = stage.environment) -> None:
        python(script, *words, environment=environment)

    write = ("gate", "write", "ads:rule", "--tier", "journal", "--value", "1", "--reason", "Why.")
    with _door(stage) as inside:
        samples = interleaved(
            {
                "bare help": lambda: python(bare, "--help", environment=stage.environment),
                "help": lambda: harness("--help"),
                "bare command": lambda: python(bare, "gate", environment=stage.environment),
                "gate write": lambda: harness(*write, environment=inside),
                "runs list": lambda: harness("runs", "list", "--json"),
                "runs show": lambda: harness("runs", "show", "2", "--json"),
                "pending list": lambda: harness("pending", "list", "--json"),
                "report": lambda: harness("report", "--json"),
            },
            size.pick(smoke=1, quick=11, full=40),
            size.patience_s,
        )
    return [
        *(each.figure(name) for name, each in samples.items()),
        _ratio("harness --help / bare click", samples["help"], samples["bare help"], HELP_GOAL),
        _ratio(
            "gate write in a run / bare click",
            samples["gate write"],
            samples["bare command"],
            CLIENT_GOAL,
        ),
    ]


def _ratio(name: str, one: Samples, other: Samples, goal: float) -> Figure:
    return Figure(
        name=name,
        value=min(one.cpu) / min(other.cpu),
        unit="×",
        at_most=goal,
        note=f"processor; by the clock {min(one.wall) / min(other.wall):.2f}",
    )


@contextmanager
def _door(stage: Stage) -> Iterator[dict[str, str]]:
    """Serve a door that answers every request at once; yields the environment inside its run."""
    path = stage.home.root.parent / "door"
    answer = encode_reply(WriteAnswer(applied=True))
    stop, stopped = socket.socketpair()
    with socket.socket(socket.AF_UNIX) as listener, stop, stopped:
        listener.bind(str(path))
        listener.listen()
        thread = threading.Thread(target=_serve, args=(listener, stopped, answer))
        thread.start()
        try:
            yield {**stage.environment, "HARNESS_RUN_ID": "bench", "HARNESS_GATE": str(path)}
        finally:
            stop.send(b"x")
            thread.join()


def _serve(listener: socket.socket, stopped: socket.socket, answer: bytes) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        selector.register(stopped, selectors.EVENT_READ)
        while all(key.fileobj is listener for key, _ in selector.select()):
            client, _ = listener.accept()
            with client:
                while not client.recv(65536).endswith(b"\n"):
                    pass
                client.sendall(answer)
