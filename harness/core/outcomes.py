"""The decision table: one pure function from what was observed to the verdict.

The table stands as data in `RULES`, in order of precedence; the first rule that names a reason
decides. Refused runs never started. Then evidence comes before everything that the CLI says of
itself; then who ended the process, what stderr says, how it ended, and what the turn came to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from harness.core.model import (
    ErrorKind,
    Evidence,
    Killed,
    Observation,
    Outcome,
    Reason,
    Verdict,
)
from harness.core.output import has_answer
from harness.core.versions import Feature, Features

_AGY_ERROR = {kind: Reason(f"agy_error.{kind.value}") for kind in ErrorKind}
_ENDED = {
    Killed.TIMEOUT: Reason.TIMEOUT,
    Killed.IDLE: Reason.IDLE,
    Killed.MEMORY: Reason.MEMORY,
    Killed.OUTPUT_LIMIT: Reason.OUTPUT_LIMIT,
}
_MODEL_FAILURE_EXIT = 3
_USAGE_EXIT = 2
_LARGEST_EXIT_OF_ITS_OWN = 128
_GOOD_STATUS = "SUCCESS"


@dataclass(frozen=True, slots=True)
class Rule:
    """One step of the precedence: its name, what it comes to, and how it finds its reason."""

    name: str
    outcome: Outcome
    find: Callable[[Observation, Features], Reason | None]


def exit_hang(observation: Observation) -> bool:
    """Return whether a complete result arrived and the process then had to be ended.

    Whoever ended it knows what had come by then; a result that the CLI prints because it is
    being ended stands in the report too, and proves nothing.
    """
    return observation.killed is Killed.EXIT_HANG


def effective_exit(observation: Observation) -> int | None:
    """Return the exit status to judge by: 0 for a result whose process only failed to leave."""
    return 0 if exit_hang(observation) else observation.exit_code


def _refused(observation: Observation, _: Features) -> Reason | None:
    return observation.refusal


def _bypassed(observation: Observation, _: Features) -> Reason | None:
    if not observation.evidence.canonical_changed:
        return None
    return Reason.ALLOW_RULE if observation.evidence.allow_rule else Reason.UNEXPLAINED


def _never_spawned(observation: Observation, _: Features) -> Reason | None:
    return Reason.SPAWN if observation.spawn_failed else None


def _harness(observation: Observation, _: Features) -> Reason | None:
    if observation.harness_crashed:
        return Reason.HARNESS_CRASHED
    return Reason.INTERRUPTED if observation.killed is Killed.INTERRUPTED else None


def _ended(observation: Observation, _: Features) -> Reason | None:
    if observation.killed is None or exit_hang(observation):
        return None
    return _ENDED[observation.killed]


def _agy_error(observation: Observation, _: Features) -> Reason | None:
    errors = observation.report.errors
    return _AGY_ERROR[errors[-1].kind] if errors else None


def _signal(observation: Observation, features: Features) -> Reason | None:
    if exit_hang(observation):
        return None
    code = observation.exit_code
    # a shell or wrapper reports a signal as 128 + n; the CLI itself never ends above 3
    if observation.signal is not None or (code is not None and code > _LARGEST_EXIT_OF_ITS_OWN):
        return Reason.SIGNAL
    if code == _MODEL_FAILURE_EXIT and features.has(Feature.AGY_ERROR_LINE):
        return Reason.AGY_ERROR_MISSING
    return None


def _exit(observation: Observation, _: Features) -> Reason | None:
    if effective_exit(observation) == 0:
        return None
    report = observation.report
    if report.crash:
        return Reason.CRASH
    if observation.exit_code == _USAGE_EXIT:
        return Reason.USAGE
    if report.auth_failed:
        return Reason.AUTH
    return Reason.TIMEOUT if report.timed_out else Reason.EXIT


def _exit_zero(observation: Observation, _: Features) -> Reason | None:
    report = observation.report
    nothing_said = not has_answer(report) and not report.denials
    bad_status = report.status is not None and report.status != _GOOD_STATUS
    failures = (
        (Reason.WRONG_WORKSPACE, observation.wrong_workspace),
        (Reason.TTY, report.tty),
        (Reason.TRUNCATED, report.truncated or report.timed_out),
        (Reason.INCOMPLETE, report.unfinished),
        (Reason.STATUS, report.error_step or (nothing_said and bad_status)),
        (Reason.EMPTY_OUTPUT, nothing_said and observation.proposals == 0),
    )
    return next((reason for reason, found in failures if found), None)


def _held(observation: Observation, _: Features) -> Reason | None:
    if observation.proposals == 0:
        return None
    if observation.report.denials:
        return Reason.PENDING_PARTIAL
    if observation.delayed == observation.proposals:
        return Reason.DELAY
    return Reason.PENDING


def _untouched(observation: Observation, _: Features) -> Reason | None:
    if observation.report.denials:
        return Reason.DENIED
    if observation.evidence.missing_artefacts:
        return Reason.EMPTY
    if observation.may_touch_canonical and not observation.evidence.watched:
        return Reason.UNWATCHED
    return Reason.NO_CHANGE


RULES: tuple[Rule, ...] = (
    Rule("refused", Outcome.REFUSED, _refused),
    Rule("bypassed", Outcome.BYPASSED, _bypassed),
    Rule("spawn", Outcome.ERRORED, _never_spawned),
    Rule("harness", Outcome.ERRORED, _harness),
    Rule("ended", Outcome.ERRORED, _ended),
    Rule("agy_error", Outcome.ERRORED, _agy_error),
    Rule("signal", Outcome.ERRORED, _signal),
    Rule("exit", Outcome.ERRORED, _exit),
    Rule("exit_zero", Outcome.ERRORED, _exit_zero),
    Rule("held", Outcome.HELD, _held),
    Rule("untouched", Outcome.UNTOUCHED, _untouched),
)


def classify(observation: Observation, features: Features) -> Verdict:
    """Return the verdict on one run. Total: every observation has one.

    A bypassed run carries in `masked` the verdict it would have had without the evidence.
    """
    for rule in RULES:
        reason = rule.find(observation, features)
        if reason is not None:
            masked = None
            if rule.outcome is Outcome.BYPASSED:
                innocent: Evidence = replace(observation.evidence, canonical_changed=False)
                masked = classify(replace(observation, evidence=innocent), features)
            return Verdict(
                outcome=rule.outcome,
                reason=reason,
                rule=rule.name,
                table_row=_table_row(rule, observation),
                masked=masked,
            )
    message = "the last rule names a reason for every observation"
    raise AssertionError(message)


def _table_row(rule: Rule, observation: Observation) -> int | None:
    match rule.outcome:
        case Outcome.REFUSED:
            return None
        case Outcome.HELD:
            return 1
        case Outcome.BYPASSED | Outcome.UNTOUCHED:
            return 4
        case Outcome.ERRORED:
            return 3 if effective_exit(observation) == 0 else 2
