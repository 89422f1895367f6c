"""How fast events are read: the measurement of `parsing`, as figures."""

from __future__ import annotations

from pathlib import Path

from measuring import Figure, Size
from parsing import WANTED_RATIO, best_rates, events, read_with_harness, read_with_json

MEGABYTE = 1_000_000


def measure_reading(size: Size, folder: Path) -> list[Figure]:
    """Measure the reader of the harness beside `json.loads` on each line of the same bytes."""
    del folder
    data = events(size.pick(smoke=1, quick=8, full=32) * MEGABYTE)
    rates = best_rates(data, {"harness": read_with_harness, "json.loads": read_with_json})
    return [
        *(
            Figure(name=f"events by {name}", value=rate, unit="MB/s")
            for name, rate in rates.items()
        ),
        Figure(
            name="events by the harness / by json.loads",
            value=rates["harness"] / rates["json.loads"],
            unit="×",
            at_least=WANTED_RATIO,
        ),
    ]
