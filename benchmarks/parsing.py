"""How fast events are read: the reader of the harness beside `json.loads` on each line.

Run it with `python benchmarks/parsing.py [megabytes]`. Both read the same bytes, in
interleaved rounds, by processor time; the best round of each counts, because others on the
machine only slow down.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from collections.abc import Callable

from harness.core.output import OutputFormat, Stream, TurnReader

CHUNK = 256 * 1024
ROUNDS = 9
WANTED_RATIO = 3.0
CONVERSATION = "5b0c9a52-7a61-4f0e-9d43-0c6f2f1d7e88"


def step(generator: random.Random, index: int) -> dict[str, object]:
    """Return one `step_update` of the mix of a night: three of four are streamed text."""
    update: dict[str, object] = {
        "conversation_id": CONVERSATION,
        "step_index": index // 8,
        "state": "DONE",
    }
    if index % 4:
        update |= {
            "state": "ACTIVE",
            "step_type": "agent_response",
            "text_delta": "a few words " * generator.randint(2, 12),
        }
    else:
        update |= {
            "step_type": "tool",
            "tool_name": generator.choice(["run_command", "view_file", "write_to_file"]),
            "duration_seconds": 0.07,
            "tool_info": {
                "name": "run_command",
                "parameters": {"CommandLine": "ls -la", "TargetFile": f"src/{index % 50}.py"},
                "output": "line\r\n" * generator.randint(1, 12),
            },
        }
    return {"event": "step_update", "step_update": update}


def events(size: int) -> bytes:
    """Return about `size` bytes of events, the same in every run."""
    generator = random.Random(7)  # noqa: S311 - test data
    lines: list[bytes] = []
    total = 0
    while total < size:
        line = json.dumps(step(generator, len(lines)), separators=(",", ":")).encode() + b"\n"
        lines.append(line)
        total += len(line)
    print(f"{len(lines)} events, median {statistics.median(map(len, lines)):.0f} bytes")
    return b"".join(lines)


def read_with_harness(data: bytes) -> None:
    """Read all of the events as the harness does, report included."""
    reader = TurnReader(output_format=OutputFormat.STREAM_JSON)
    for start in range(0, len(data), CHUNK):
        reader.feed(Stream.STDOUT, data[start : start + CHUNK])
    report = reader.finish()
    assert report.usage.tool_calls > 0
    assert report.notes == ("the answer was cut at 65536 bytes",)


def read_with_json(data: bytes) -> None:
    """Decode each line, and do nothing with it."""
    for line in data.splitlines():
        json.loads(line)


def best_rates(data: bytes, readers: dict[str, Callable[[bytes], None]]) -> dict[str, float]:
    """Return the best MB/s of each reader over interleaved rounds."""
    best = dict.fromkeys(readers, 0.0)
    for _ in range(ROUNDS):
        for name, read in readers.items():
            started = time.process_time()
            read(data)
            best[name] = max(best[name], len(data) / 1e6 / (time.process_time() - started))
    return best


def main() -> int:
    """Print both rates and their ratio; 1 where the ratio is below the bar."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 16
    rates = best_rates(
        events(size * 1_000_000), {"TurnReader": read_with_harness, "json.loads": read_with_json}
    )
    for name, rate in rates.items():
        print(f"{name:12} {rate:8.1f} MB/s")
    ratio = rates["TurnReader"] / rates["json.loads"]
    print(f"ratio        {ratio:8.2f} (bar: {WANTED_RATIO})")
    return 0 if ratio >= WANTED_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
