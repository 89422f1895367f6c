"""A stand-in for the Antigravity CLI: plays any version of it, by a scenario.

`FAKE_AGY_SCENARIO` names a TOML file or a shipped scenario; else `fake-agy.toml` in HOME, else
the same file in `~/.gemini/antigravity-cli`, which an isolated run still sees; else it answers
"Done.". `FAKE_AGY_RECORD` names the record file, `FAKE_AGY_TIME_SCALE` shortens every wait.
`harness.testing.scenario` describes the format, `python -m harness.testing.scenarios` lists what
is shipped. Problems of the scenario itself are one line on stderr and exit 64.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from harness.errors import HarnessError
from harness.testing.behaviour import behaviour_of
from harness.testing.choice import Chosen, choose
from harness.testing.decode import EXIT_SCENARIO
from harness.testing.flags import HelpAsked, UsageFault, parse, usage_text
from harness.testing.record import Record, started_of, stdin_content
from harness.testing.voice import STDERR, STDOUT, encode, write_all

_EXIT_USAGE = 2
_EXIT_FAILED = 1


def main() -> None:
    """Play one start and end the process with its exit status."""
    # a Go program dies of a closed pipe; Python would print a traceback
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        code = _run(sys.argv[1:])
    except HarnessError as problem:
        write_all(STDERR, encode(f"fake-agy: {problem}\n"))
        code = EXIT_SCENARIO
    except OSError as problem:
        write_all(STDERR, encode(f"error: {problem.strerror}\n"))
        code = _EXIT_FAILED
    sys.exit(code)


def _run(argv: list[str]) -> int:
    chosen = choose(os.environ)
    behaviour = behaviour_of(chosen.scenario.version)
    record = _record(chosen)
    kind, content = stdin_content()
    record.line(
        "start",
        pid=os.getpid(),
        started=started_of(os.getpid()),
        argv=argv,
        env=dict(os.environ),
        cwd=str(Path.cwd()),
        stdin=content,
        stdin_kind=kind,
        version=chosen.scenario.version,
        scenario=chosen.scenario.description,
    )
    try:
        options = parse(argv, behaviour)
    except UsageFault as problem:
        write_all(STDERR, encode(f"{problem}\n{usage_text(behaviour)}"))
        code = _EXIT_USAGE
    except HelpAsked:
        write_all(STDOUT, encode(usage_text(behaviour)))
        code = 0
    else:
        if options.on("version"):
            write_all(STDOUT, encode(chosen.scenario.version + "\n"))
            code = 0
        else:
            from harness.testing.performance import perform

            code = perform(chosen, behaviour, options, record)
    record.line("end", exit=code)
    return code


def _record(chosen: Chosen) -> Record:
    named = os.environ.get("FAKE_AGY_RECORD") or chosen.scenario.record
    return Record(chosen.folder / Path(named).expanduser() if named else None)


if __name__ == "__main__":
    main()
