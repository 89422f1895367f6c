"""Events of a command on stderr, where somebody or something wants them."""

from __future__ import annotations

import os
import sys
from typing import Any, Protocol

from harness.cli.render import let_go


class EventLog(Protocol):
    """Takes an event: a dotted past-tense name, and facts."""

    def __call__(self, event: str, /, **facts: Any) -> object:
        """Log it."""
        ...


def event_log(log_format: str | None) -> EventLog:
    """Return what takes the events of a command.

    A person at a terminal gets none unless `--log-format` asks for them: the command itself
    talks there. Loading structlog is left to those who want it.
    """
    if log_format is None and sys.stderr.isatty() and "INVOCATION_ID" not in os.environ:
        return _unheard
    from harness.cli.logs import configure_logs

    logger = configure_logs(log_format)

    def log(event: str, /, **facts: Any) -> None:
        try:
            logger.info(event, **facts)
        except OSError:  # nobody can be told, and the run goes on
            let_go(2)

    return log


def _unheard(event: str, /, **facts: Any) -> None:
    """Drop it."""
