"""What to do next about a run: one line, with the command to give."""

from __future__ import annotations

from datetime import timedelta

from harness.core.model import ErrorKind, Outcome, Reason, RunRecord

_REFUSED = {
    Reason.BAD_JOB: "mend the job's file, then: harness jobs check",
    Reason.NOT_ACCEPTED: "read what changed and accept it: harness jobs accept {job}",
    Reason.ALREADY_RUNNING: "wait for the run that is on: harness runs list",
    Reason.TOO_LATE: "the start was missed by too much; run it now: harness run {job}",
    Reason.PAUSED: "the nights are paused; to go on: harness resume",
    Reason.CLI_MISSING: "install agy or name it in harness.toml [agy] path; then: harness doctor",
    Reason.CLI_TOO_OLD: "update agy to 1.1.3 or later; then: harness doctor",
    Reason.CANONICAL_SUSPENDED: "see what suspends canonical writes: harness canonical status",
    Reason.RULES_TOO_BROAD: "narrow the allow rules that stand in the way",
    Reason.ISOLATION_UNAVAILABLE: 'set isolate = "auto" in the job, or provide the isolation',
    Reason.STORE_UNREACHABLE: "look at the store: harness doctor",
    Reason.DISK: "free some disk space; then: harness run {job}",
    Reason.BUDGET: "the budget of the job is spent",
    Reason.QUOTA: "the quota is spent; wait for its reset",
}
_ERRORED = {
    Reason.SPAWN: "the CLI could not be started: harness doctor",
    Reason.HARNESS_CRASHED: "its watcher was killed in mid-run; look at the machine, then: {again}",
    Reason.INTERRUPTED: "the run was stopped from outside; to repeat it: {again}",
    Reason.TIMEOUT: "give it more time (`timeout`) or less to do; then: {again}",
    Reason.IDLE: "it went silent; see the log: harness runs log {run}",
    Reason.MEMORY: "it took more memory than `memory` allows; then: {again}",
    Reason.OUTPUT_LIMIT: "it printed more than `max_output` allows: harness runs log {run}",
    Reason.AUTH: "sign in: run agy once by hand; then: {again}",
    Reason.USAGE: "the CLI did not take the command line; see `args` of the job: {show}",
    Reason.CRASH: "the CLI itself crashed; see: harness runs log {run}",
    Reason.WRONG_WORKSPACE: "it worked in another folder than the job's: {show}",
    Reason.TTY: "the CLI wanted a terminal; look at `args` of the job: {show}",
    Reason.TRUNCATED: "it ran out of its time; raise `timeout`, then: {again}",
    Reason.INCOMPLETE: "background work was cut off; see: harness runs log {run}",
    Reason.STATUS: "the turn failed though it exited 0; see: harness runs log {run}",
    Reason.EMPTY_OUTPUT: "it said nothing at all; see: harness runs log {run}",
}
_AGY_ERROR = {
    ErrorKind.QUOTA: "{reset}then: {again}",
    ErrorKind.AUTH: "the login or API key was refused; sign in, then: {again}",
    ErrorKind.TRANSIENT: "a passing failure of the service; run it again: {again}",
    ErrorKind.CONTENT_FILTER: "the content filter stopped it; reword the prompt: {show}",
    ErrorKind.CONFIG: "a tool or model is not configured; see: {show}",
    ErrorKind.INVALID_ARGUMENT: "the service refused the request; start afresh: {again}",
    ErrorKind.OTHER: "see what it said: {show}",
}
_UNTOUCHED = {
    Reason.DENIED: "a tool was denied; see which: {show}",
    Reason.EMPTY: "a declared artefact is missing or empty; see: {show}",
    Reason.UNWATCHED: "none of its canonical data could be read; check `guard`: {show}",
}


def advise(record: RunRecord) -> str:
    """Return the next step for a run; empty where there is nothing to do."""
    text = _text(record)
    reset = "wait for the quota to reset; "
    if record.agy_errors and record.agy_errors[-1].resets_in_s:
        at = record.ended_at + timedelta(seconds=record.agy_errors[-1].resets_in_s)
        reset = f"the quota resets at {at:%Y-%m-%dT%H:%MZ}; "
    return text.format(
        job=record.job,
        run=record.run_id,
        again=f"harness run {record.job}",
        show=f"harness runs show {record.run_id}",
        reset=reset,
    )


def _text(record: RunRecord) -> str:
    match record.outcome:
        case Outcome.REFUSED:
            return _REFUSED[record.reason]
        case Outcome.BYPASSED:
            return (
                "look at it: {show}; put the files back: harness runs restore {run}; "
                "then: harness runs ack {run} --reason …"
            )
        case Outcome.HELD:
            return "decide: harness pending list, then harness approve ID or harness reject ID"
        case Outcome.UNTOUCHED:
            return _UNTOUCHED.get(record.reason, "")
        case Outcome.ERRORED:
            if record.reason.value.startswith("agy_error.") and record.agy_errors:
                return _AGY_ERROR[record.agy_errors[-1].kind]
            return _ERRORED.get(record.reason, "see what happened: harness runs log {run}")
