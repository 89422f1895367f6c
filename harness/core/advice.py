"""What to do next about a run: one line, the command to give first, then why.

The two are parted so that the whole line can be given to a shell.
"""

from __future__ import annotations

from datetime import timedelta

from harness.core.evidence import CANONICAL_PREFIX
from harness.core.model import ErrorKind, Outcome, Reason, RunRecord

_PARTED = " # "
_JOBS = "harness jobs list # the jobs there are; start it by a name of these"
_REFUSED = {
    Reason.BAD_JOB: "harness jobs check # mend the job's file until it finds nothing",
    Reason.NOT_ACCEPTED: "harness jobs accept {job} # once you have read what changed",
    Reason.ALREADY_RUNNING: "harness runs list # wait for the run that is on",
    Reason.TOO_LATE: "{again} # the start was missed by too much; this runs it now",
    Reason.PAUSED: "harness resume # the nights are paused",
    Reason.CLI_MISSING: "harness doctor # install agy, or name it in harness.toml [agy] path",
    Reason.CLI_TOO_OLD: "harness doctor # update agy to 1.1.3 or later",
    Reason.CANONICAL_SUSPENDED: "harness canonical status # what suspends canonical writes",
    Reason.RULES_TOO_BROAD: "harness audit --job {job} # narrow the rules that stand in the way",
    Reason.ISOLATION_UNAVAILABLE: 'set isolate = "auto" in the job, or provide the isolation',
    Reason.STORE_UNREACHABLE: "harness doctor # look at the store",
    Reason.DISK: "{again} # once there is space on the disk",
    Reason.BUDGET: "the budget of the job is spent",
    Reason.QUOTA: "the quota is spent; wait for its reset",
}
_ERRORED = {
    Reason.SPAWN: "harness doctor # the CLI could not be started",
    Reason.HARNESS_CRASHED: "{again} # its watcher was killed in mid-run; look at the machine",
    Reason.INTERRUPTED: "{again} # the run was stopped from outside; this repeats it",
    Reason.TIMEOUT: "{again} # with more time (`timeout`) or less to do",
    Reason.IDLE: "{log} # it went silent",
    Reason.MEMORY: "{again} # it took more than `memory` allows",
    Reason.OUTPUT_LIMIT: "{log} # it printed more than `max_output` allows",
    Reason.AUTH: "{again} # after a login: run agy once by hand",
    Reason.USAGE: "{show} # the CLI did not take its command line; see `args` of the job",
    Reason.CRASH: "{log} # the CLI itself crashed",
    Reason.WRONG_WORKSPACE: "{show} # it worked in another folder than the job's",
    Reason.TTY: "{show} # the CLI wanted a terminal; look at `args` of the job",
    Reason.TRUNCATED: "{again} # with a longer `timeout`: it ran out of its time",
    Reason.INCOMPLETE: "{log} # background work was cut off",
    Reason.STATUS: "{log} # the turn failed though it exited 0",
    Reason.EMPTY_OUTPUT: "{log} # it said nothing at all",
}
_AGY_ERROR = {
    ErrorKind.QUOTA: "{again} # {reset}",
    ErrorKind.AUTH: "{again} # after a login: login or API key were refused",
    ErrorKind.TRANSIENT: "{again} # a passing failure of the service",
    ErrorKind.CONTENT_FILTER: "{show} # the content filter stopped it; reword the prompt",
    ErrorKind.CONFIG: "{show} # a tool or model is not configured",
    ErrorKind.INVALID_ARGUMENT: "{again} # the service refused the request; this starts afresh",
    ErrorKind.OTHER: "{show} # what it said",
}
_UNTOUCHED = {
    Reason.DENIED: "{show} # a tool was denied",
    Reason.EMPTY: "{show} # a declared artefact is missing or empty",
    Reason.UNWATCHED: "{show} # none of its canonical data could be read; check `guard`",
}


def advise(record: RunRecord) -> str:
    """Return the next step for a run; empty where there is nothing to do."""
    reset = "once the quota has reset"
    if record.agy_errors and record.agy_errors[-1].resets_in_s:
        at = record.ended_at + timedelta(seconds=record.agy_errors[-1].resets_in_s)
        reset = f"from {at:%Y-%m-%dT%H:%MZ}, when the quota resets"
    return _text(record).format(
        job=record.job,
        again=f"harness run {record.job}",
        show=f"harness runs show {record.run_id}",
        log=f"harness runs log {record.run_id}",
        restore=f"harness runs restore {record.run_id}",
        ack=f"harness runs ack {record.run_id} --reason …",
        reset=reset,
    )


def command_and_words(advice: str) -> tuple[str, str]:
    """Return the command that an advice begins with, empty where it has none, and the rest."""
    command, parted, words = advice.partition(_PARTED)
    if parted:
        return command, words
    return (advice, "") if advice.startswith("harness ") else ("", advice)


def _bypassed(record: RunRecord) -> str:
    # a canonical key has versions, not copies: what was there is written again
    if any(path.startswith(CANONICAL_PREFIX) for path in record.evidence.changed_paths):
        return "{show} # then write the right value by harness gate write; then: {ack}"
    return "{show} # then put the files back: {restore}; then: {ack}"


def _text(record: RunRecord) -> str:
    match record.outcome:
        case Outcome.REFUSED:
            unknown = record.reason is Reason.BAD_JOB and record.detail.startswith("no job ")
            return _JOBS if unknown else _REFUSED[record.reason]
        case Outcome.BYPASSED:
            return _bypassed(record)
        case Outcome.HELD:
            return "harness pending list # then: harness approve ID, or harness reject ID"
        case Outcome.UNTOUCHED:
            return _UNTOUCHED.get(record.reason, "")
        case Outcome.ERRORED:
            if record.reason.value.startswith("agy_error.") and record.agy_errors:
                return _AGY_ERROR[record.agy_errors[-1].kind]
            return _ERRORED.get(record.reason, "{log} # what happened")
