"""What became of approvals and rejections."""

from __future__ import annotations

from collections.abc import Sequence

from harness.cli.render import emit, note
from harness.services.gate import DecisionResult


def show_decisions(results: Sequence[DecisionResult], *, as_json: bool) -> int:
    """Print decisions; returns the exit status: 1 where one was not carried out."""
    for result in results:
        if result.error is not None:
            named = "" if result.id in result.error else f"{result.id}: "
            note(f"error: {named}{result.error}")
    done = [result for result in results if result.error is None]
    lines = [
        f"{result.id}  {result.state.value if result.state else ''}"
        + (f"  version {result.version}" if result.version is not None else "")
        for result in done
    ]
    emit({"results": results}, as_json=as_json, text="\n".join(lines))
    return 0 if len(done) == len(results) else 1
