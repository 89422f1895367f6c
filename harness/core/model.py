"""The nouns of a run: what was observed, what it means, and the record that is kept.

The field names of `RunRecord` and of what it holds are the keys of `harness run --json`.
Times are aware UTC datetimes, durations are seconds with `_s` in the name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class Outcome(StrEnum):
    """What a run came to."""

    HELD = "held"
    ERRORED = "errored"
    UNTOUCHED = "untouched"
    BYPASSED = "bypassed"
    REFUSED = "refused"


class Reason(StrEnum):
    """Why a run came to its outcome; grouped by outcome, each group in order of precedence."""

    # refused
    BAD_JOB = "bad_job"
    NOT_ACCEPTED = "not_accepted"
    ALREADY_RUNNING = "already_running"
    TOO_LATE = "too_late"
    PAUSED = "paused"
    CLI_MISSING = "cli_missing"
    CLI_TOO_OLD = "cli_too_old"
    CANONICAL_SUSPENDED = "canonical_suspended"
    RULES_TOO_BROAD = "rules_too_broad"
    ISOLATION_UNAVAILABLE = "isolation_unavailable"
    STORE_UNREACHABLE = "store_unreachable"
    DISK = "disk"
    BUDGET = "budget"
    QUOTA = "quota"
    # bypassed
    ALLOW_RULE = "allow_rule"
    UNEXPLAINED = "unexplained"
    # errored
    SPAWN = "spawn"
    HARNESS_CRASHED = "harness_crashed"
    INTERRUPTED = "interrupted"
    TIMEOUT = "timeout"
    IDLE = "idle"
    MEMORY = "memory"
    OUTPUT_LIMIT = "output_limit"
    AGY_ERROR_QUOTA = "agy_error.quota"
    AGY_ERROR_AUTH = "agy_error.auth"
    AGY_ERROR_TRANSIENT = "agy_error.transient"
    AGY_ERROR_CONTENT_FILTER = "agy_error.content_filter"
    AGY_ERROR_CONFIG = "agy_error.config"
    AGY_ERROR_INVALID_ARGUMENT = "agy_error.invalid_argument"
    AGY_ERROR_OTHER = "agy_error.other"
    SIGNAL = "signal"
    AGY_ERROR_MISSING = "agy_error_missing"
    CRASH = "crash"
    USAGE = "usage"
    AUTH = "auth"
    EXIT = "exit"
    WRONG_WORKSPACE = "wrong_workspace"
    TTY = "tty"
    TRUNCATED = "truncated"
    INCOMPLETE = "incomplete"
    STATUS = "status"
    EMPTY_OUTPUT = "empty_output"
    # held
    PENDING_PARTIAL = "pending_partial"
    DELAY = "delay"
    PENDING = "pending"
    # untouched
    DENIED = "denied"
    EMPTY = "empty"
    UNWATCHED = "unwatched"
    NO_CHANGE = "no_change"


class ErrorKind(StrEnum):
    """What an AGY_ERROR line is about."""

    QUOTA = "quota"
    AUTH = "auth"
    TRANSIENT = "transient"
    CONTENT_FILTER = "content_filter"
    CONFIG = "config"
    INVALID_ARGUMENT = "invalid_argument"
    OTHER = "other"


class Killed(StrEnum):
    """Why the harness ended the process itself."""

    TIMEOUT = "timeout"
    IDLE = "idle"
    EXIT_HANG = "exit_hang"
    MEMORY = "memory"
    OUTPUT_LIMIT = "output_limit"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgyError:
    """One `AGY_ERROR: {...}` line of stderr, or one that could not be parsed (kind `other`)."""

    short_error: str = ""
    status: str | None = None
    error_code: int | None = None
    code_kind: str | None = None
    retryable: bool | None = None
    error_id: str | None = None
    kind: ErrorKind = ErrorKind.OTHER
    resets_in_s: float | None = None
    raw: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """A tool that was denied because nobody could be asked.

    Attributes:
        action: the permission's kind, such as `command` or `write_file`.
        display_name: the CLI's own name of the tool, where it gave one.
        target: what the tool wanted, where the log tells.
        source: `stderr`, `result` or `log`.
    """

    action: str
    display_name: str | None = None
    target: str | None = None
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class McpCall:
    """One call of an MCP tool that the events show."""

    tool: str
    step_index: int | None = None
    state: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens and calls as the CLI reported them; output tokens include thinking."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    total_tokens: int = 0
    tool_calls: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputReport:
    """What stdout, stderr and the log of one turn say, decoded once.

    Attributes:
        answer: the text of this turn, at most `ANSWER_LIMIT` bytes of UTF-8.
        result_complete: a complete result of this turn arrived (json, stream-json).
        status: the status that the first complete result gave; None where none was given.
        error_step: an `error_message` step was seen in this turn.
        errors: every AGY_ERROR line in order; the last decides.
        denials: soft denials, merged from the result, stderr and the log.
        cwd: where the CLI said that its tools work; None where it did not say.
        truncated: the CLI's own print-timeout cut the turn and it says so.
        unfinished: background work was killed on exit, or a tool step never finished.
        tty: the interactive form was started without a terminal.
        crash: a Go panic or goroutine dump stands on stderr.
        auth_failed: the start failed for lack of a login.
        timed_out: one of the old texts of a timeout stands on stderr.
        model: the model that the log names; None where it does not.
        conversation_ids: every conversation that the events name, in order.
        mcp_calls: MCP tools that the events show.
        gate_calls: tool steps that ask the gate for a canonical write, by MCP or by command.
        written_paths: paths that write tools named in the events, as given.
        peak_context_tokens: the largest input of one step.
        notes: short facts for `findings`, such as lines that could not be read.
        log_tail: the last lines of the log, at most 4 KiB.
    """

    answer: str = ""
    result_complete: bool = False
    status: str | None = None
    error_step: bool = False
    errors: tuple[AgyError, ...] = ()
    denials: tuple[Denial, ...] = ()
    cwd: str | None = None
    truncated: bool = False
    unfinished: bool = False
    tty: bool = False
    crash: bool = False
    auth_failed: bool = False
    timed_out: bool = False
    model: str | None = None
    conversation_ids: tuple[str, ...] = ()
    mcp_calls: tuple[McpCall, ...] = ()
    gate_calls: int = 0
    written_paths: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    peak_context_tokens: int = 0
    notes: tuple[str, ...] = ()
    log_tail: str = ""


ANSWER_LIMIT = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was found on disk and in the store, whatever the CLI said.

    Attributes:
        canonical_changed: canonical data changed without an approved apply.
        changed_paths: where; files as absolute paths, keys as `canonical:<key>`.
        outside_paths: paths outside the workspace that write tools named.
        missing_artefacts: declared artefacts that are missing, empty or unchanged.
        survivors_killed: processes that outlived the CLI and were ended.
        exit_hang: a complete result arrived and the process had to be ended.
        changed_between_runs: guarded paths that differ from the last known digest.
        unreadable: guarded paths that could not be digested.
        watched: at least one source of canonical data could be digested or read.
        allow_rule: the rule that let an unapproved change through, where one is known.
    """

    canonical_changed: bool = False
    changed_paths: tuple[str, ...] = ()
    outside_paths: tuple[str, ...] = ()
    missing_artefacts: tuple[str, ...] = ()
    survivors_killed: int = 0
    exit_hang: bool = False
    changed_between_runs: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    watched: bool = True
    allow_rule: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """All that is known of one run when it is judged.

    Attributes:
        refusal: the first reason of the preflight not to start; None when it started.
        spawn_failed: the process could not be started at all.
        harness_crashed: the harness that owned the run died before closing it.
        killed: why the harness ended the process; None where it ended by itself.
        exit_code: the process's exit status; None where a signal ended it or none is known.
        signal: the number of the signal that ended it; None otherwise.
        report: what its output says.
        evidence: what was found.
        proposals: open canonical proposals of this run.
        delayed: of these, how many a policy applies without a person.
        wrong_workspace: the CLI worked in another folder than the job's.
        may_touch_canonical: the job declares the canonical tier or guarded paths.
    """

    refusal: Reason | None = None
    spawn_failed: bool = False
    harness_crashed: bool = False
    killed: Killed | None = None
    exit_code: int | None = None
    signal: int | None = None
    report: OutputReport = field(default_factory=OutputReport)
    evidence: Evidence = field(default_factory=Evidence)
    proposals: int = 0
    delayed: int = 0
    wrong_workspace: bool = False
    may_touch_canonical: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The decision on one run.

    Attributes:
        rule: the name of the rule that decided, one of `core.outcomes.RULES`.
        table_row: 1 to 4 in the decision table; None for a run that never started.
        masked: the verdict it would have had without the bypass; None otherwise.
    """

    outcome: Outcome
    reason: Reason
    rule: str
    table_row: int | None
    masked: Verdict | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CliIdentity:
    """The binary that a run used; `known` is False for a version that no table covers."""

    path: str | None = None
    version: str | None = None
    sha256: str | None = None
    known: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """The largest resident memory of the whole tree, and the largest context of one step."""

    rss_bytes: int = 0
    context_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A fact worth a person's look that does not change the outcome.

    Attributes:
        id: a stable name, such as `cli_newer_than_known`.
        detail: one sentence with the particulars.
    """

    id: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One run, as stored, printed by `run --json` and shown in the morning."""

    run_id: str
    job: str
    attempt: int = 1
    retry_of: str | None = None
    outcome: Outcome
    reason: Reason
    rule: str
    table_row: int | None = None
    masked: Verdict | None = None
    exit_code: int | None = None
    signal: int | None = None
    killed: Killed | None = None
    cli: CliIdentity = field(default_factory=CliIdentity)
    model: str | None = None
    isolation: str = "off"
    agy_errors: tuple[AgyError, ...] = ()
    denied: tuple[Denial, ...] = ()
    pending: tuple[str, ...] = ()
    quarantined: tuple[str, ...] = ()
    evidence: Evidence = field(default_factory=Evidence)
    mcp_calls: tuple[McpCall, ...] = ()
    boundaries: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    usage: Usage = field(default_factory=Usage)
    peak: Peak = field(default_factory=Peak)
    cpu_s: float = 0.0
    response: str = ""
    conversation_ids: tuple[str, ...] = ()
    log_tail: str = ""
    detail: str = ""
    started_at: datetime
    ended_at: datetime
    duration_s: float
    advice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledgement:
    """A person's word on a bypassed run."""

    run_id: str
    at: datetime
    actor: str
    reason: str
