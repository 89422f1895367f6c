"""The decision table: each row by example, precedence and totality by property."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.core.model import (
    AgyError,
    Denial,
    ErrorKind,
    Evidence,
    Killed,
    Observation,
    Outcome,
    OutputReport,
    Reason,
)
from harness.core.outcomes import RULES, classify
from harness.core.versions import parse_version

NEWEST = parse_version("1.3.3")
BEFORE_LINE = parse_version("1.2.5")
ANSWER = OutputReport(answer="Done.", result_complete=True, status="SUCCESS")
QUOTA = AgyError(short_error="Individual quota reached.", kind=ErrorKind.QUOTA)
DENIED = Denial(action="command", source="stderr")


def observation(**changes: object) -> Observation:
    """Return a run that ended well and did nothing, with changes."""
    return replace(Observation(exit_code=0, report=ANSWER), **changes)


def said(**changes: object) -> OutputReport:
    """Return the output of a good turn, with changes."""
    return replace(ANSWER, **changes)


SILENT = OutputReport()
CASES = [
    ("row 1", observation(proposals=1), Outcome.HELD, Reason.PENDING, "held", 1),
    (
        "row 1 with denials",
        observation(proposals=1, report=said(denials=(DENIED,))),
        Outcome.HELD,
        Reason.PENDING_PARTIAL,
        "held",
        1,
    ),
    (
        "row 1 by policy",
        observation(proposals=2, delayed=2),
        Outcome.HELD,
        Reason.DELAY,
        "held",
        1,
    ),
    (
        "row 1 partly by policy",
        observation(proposals=2, delayed=1),
        Outcome.HELD,
        Reason.PENDING,
        "held",
        1,
    ),
    (
        "held without a word",
        observation(proposals=1, report=SILENT),
        Outcome.HELD,
        Reason.PENDING,
        "held",
        1,
    ),
    (
        "row 2",
        observation(exit_code=3, report=said(errors=(QUOTA,)), proposals=1),
        Outcome.ERRORED,
        Reason.AGY_ERROR_QUOTA,
        "agy_error",
        2,
    ),
    (
        "row 3",
        observation(report=said(errors=(QUOTA,))),
        Outcome.ERRORED,
        Reason.AGY_ERROR_QUOTA,
        "agy_error",
        3,
    ),
    (
        "the last line decides",
        observation(report=said(errors=(QUOTA, AgyError(kind=ErrorKind.TRANSIENT)))),
        Outcome.ERRORED,
        Reason.AGY_ERROR_TRANSIENT,
        "agy_error",
        3,
    ),
    ("row 4", observation(), Outcome.UNTOUCHED, Reason.NO_CHANGE, "untouched", 4),
    (
        "row 4 denied",
        observation(report=OutputReport(denials=(DENIED,), result_complete=True)),
        Outcome.UNTOUCHED,
        Reason.DENIED,
        "untouched",
        4,
    ),
    (
        "row 4 empty",
        observation(evidence=Evidence(missing_artefacts=("out.md",))),
        Outcome.UNTOUCHED,
        Reason.EMPTY,
        "untouched",
        4,
    ),
    (
        "row 4 unwatched",
        observation(may_touch_canonical=True, evidence=Evidence(watched=False)),
        Outcome.UNTOUCHED,
        Reason.UNWATCHED,
        "untouched",
        4,
    ),
    (
        "unwatched matters only where canonical data is in reach",
        observation(evidence=Evidence(watched=False)),
        Outcome.UNTOUCHED,
        Reason.NO_CHANGE,
        "untouched",
        4,
    ),
    (
        "bypassed",
        observation(evidence=Evidence(canonical_changed=True)),
        Outcome.BYPASSED,
        Reason.UNEXPLAINED,
        "bypassed",
        4,
    ),
    (
        "bypassed by a rule",
        observation(evidence=Evidence(canonical_changed=True, allow_rule="default:workspace")),
        Outcome.BYPASSED,
        Reason.ALLOW_RULE,
        "bypassed",
        4,
    ),
    (
        "spawn",
        observation(spawn_failed=True, exit_code=None),
        Outcome.ERRORED,
        Reason.SPAWN,
        "spawn",
        2,
    ),
    (
        "harness crashed",
        observation(harness_crashed=True, exit_code=None),
        Outcome.ERRORED,
        Reason.HARNESS_CRASHED,
        "harness",
        2,
    ),
    (
        "interrupted, though a result had come",
        observation(killed=Killed.INTERRUPTED, exit_code=1),
        Outcome.ERRORED,
        Reason.INTERRUPTED,
        "harness",
        2,
    ),
    (
        "exit hang is judged as exit 0",
        observation(killed=Killed.EXIT_HANG, exit_code=None, signal=9),
        Outcome.UNTOUCHED,
        Reason.NO_CHANGE,
        "untouched",
        4,
    ),
    (
        "a result that comes because the process is being ended proves nothing",
        observation(killed=Killed.TIMEOUT, exit_code=1, proposals=1),
        Outcome.ERRORED,
        Reason.TIMEOUT,
        "ended",
        2,
    ),
    *(
        (
            f"ended: {killed}",
            observation(killed=killed, exit_code=None, signal=9, report=SILENT),
            Outcome.ERRORED,
            Reason(killed.value),
            "ended",
            2,
        )
        for killed in (Killed.TIMEOUT, Killed.IDLE, Killed.MEMORY, Killed.OUTPUT_LIMIT)
    ),
    (
        "ended comes before what stderr says",
        observation(
            killed=Killed.IDLE,
            exit_code=None,
            signal=9,
            report=OutputReport(errors=(QUOTA,)),
        ),
        Outcome.ERRORED,
        Reason.IDLE,
        "ended",
        2,
    ),
    (
        "signal from outside",
        observation(exit_code=None, signal=9),
        Outcome.ERRORED,
        Reason.SIGNAL,
        "signal",
        2,
    ),
    (
        "signal as a shell reports it",
        observation(exit_code=137),
        Outcome.ERRORED,
        Reason.SIGNAL,
        "signal",
        2,
    ),
    (
        "exit 3 without the line",
        observation(exit_code=3),
        Outcome.ERRORED,
        Reason.AGY_ERROR_MISSING,
        "signal",
        2,
    ),
    *(
        (
            f"exit: {name}",
            observation(exit_code=code, report=report),
            Outcome.ERRORED,
            reason,
            "exit",
            2,
        )
        for name, code, report, reason in (
            ("crash before usage", 2, said(crash=True), Reason.CRASH),
            ("usage before auth", 2, said(auth_failed=True), Reason.USAGE),
            ("auth before timeout", 1, said(auth_failed=True, timed_out=True), Reason.AUTH),
            ("timeout", 1, said(timed_out=True), Reason.TIMEOUT),
            ("exit", 1, said(), Reason.EXIT),
            ("124 is of no known origin", 124, said(), Reason.EXIT),
        )
    ),
    *(
        (
            f"exit 0: {reason} {number}",
            observation(report=report, wrong_workspace=elsewhere),
            Outcome.ERRORED,
            reason,
            "exit_zero",
            3,
        )
        for number, (reason, report, elsewhere) in enumerate(
            (
                (Reason.WRONG_WORKSPACE, said(tty=True), True),
                (Reason.TTY, said(tty=True, truncated=True), False),
                (Reason.TRUNCATED, said(truncated=True, unfinished=True), False),
                (Reason.TRUNCATED, said(timed_out=True), False),
                (Reason.INCOMPLETE, said(unfinished=True, error_step=True), False),
                (Reason.STATUS, said(error_step=True), False),
                (Reason.STATUS, said(answer=" \n", status="ERROR"), False),
                (Reason.EMPTY_OUTPUT, said(answer="", status=None), False),
                (Reason.EMPTY_OUTPUT, said(answer="", status="SUCCESS"), False),
            )
        )
    ),
    (
        "a sticky error with an answer is a success",
        observation(report=said(status="ERROR")),
        Outcome.UNTOUCHED,
        Reason.NO_CHANGE,
        "untouched",
        4,
    ),
]


@pytest.mark.parametrize(
    ("seen", "outcome", "reason", "rule", "row"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_each_row_of_the_table(
    seen: Observation, outcome: Outcome, reason: Reason, rule: str, row: int
) -> None:
    """An observation comes to the outcome, reason, rule and row that the table gives it."""
    verdict = classify(seen, NEWEST)
    assert (verdict.outcome, verdict.reason, verdict.rule, verdict.table_row) == (
        outcome,
        reason,
        rule,
        row,
    )


def test_exit_3_before_the_line_existed_is_a_plain_exit() -> None:
    """Before 1.2.6 nobody promised a line, so exit 3 without one says nothing special."""
    assert classify(observation(exit_code=3), BEFORE_LINE).reason is Reason.EXIT


def test_a_version_nobody_can_parse_promises_nothing() -> None:
    """Of an unparsable version no feature is assumed."""
    verdict = classify(observation(exit_code=3), parse_version("banana"))
    assert verdict.reason is Reason.EXIT


def test_a_bypass_masks_the_verdict_it_would_have_had() -> None:
    """The verdict without the evidence stands in `masked`, whatever it is."""
    changed = Evidence(canonical_changed=True)
    held = classify(observation(proposals=1, evidence=changed), NEWEST).masked
    failed = classify(observation(exit_code=3, evidence=changed), NEWEST).masked
    assert held is not None
    assert failed is not None
    assert (held.outcome, held.reason) == (Outcome.HELD, Reason.PENDING)
    assert (failed.outcome, failed.reason) == (Outcome.ERRORED, Reason.AGY_ERROR_MISSING)


REFUSALS = [rule for rule in Reason if list(Reason).index(rule) <= list(Reason).index(Reason.QUOTA)]
texts = st.sampled_from(["", " ", "Done."])
reports = st.builds(
    OutputReport,
    answer=texts,
    result_complete=st.booleans(),
    status=st.sampled_from([None, "SUCCESS", "ERROR", "CANCELED"]),
    error_step=st.booleans(),
    errors=st.lists(st.builds(AgyError, kind=st.sampled_from(list(ErrorKind))), max_size=2).map(
        tuple
    ),
    denials=st.sampled_from([(), (DENIED,)]),
    truncated=st.booleans(),
    unfinished=st.booleans(),
    tty=st.booleans(),
    crash=st.booleans(),
    auth_failed=st.booleans(),
    timed_out=st.booleans(),
)
evidences = st.builds(
    Evidence,
    canonical_changed=st.booleans(),
    missing_artefacts=st.sampled_from([(), ("a",)]),
    watched=st.booleans(),
    allow_rule=st.sampled_from([None, "command(git)"]),
)
observations = st.builds(
    Observation,
    refusal=st.none() | st.sampled_from(REFUSALS),
    spawn_failed=st.booleans(),
    harness_crashed=st.booleans(),
    killed=st.none() | st.sampled_from(list(Killed)),
    exit_code=st.none() | st.integers(-10, 300),
    signal=st.none() | st.integers(1, 31),
    report=reports,
    evidence=evidences,
    proposals=st.integers(0, 3),
    delayed=st.integers(0, 3),
    wrong_workspace=st.booleans(),
    may_touch_canonical=st.booleans(),
)
versions = st.sampled_from(["1.0.0", "1.2.5", "1.3.3", "9.9.9", "banana", ""]).map(parse_version)


@given(observations, versions)
@settings(max_examples=400)
def test_every_observation_has_a_verdict_of_its_own_outcome(
    seen: Observation, features: object
) -> None:
    """No combination is without a verdict, and the reason belongs to the rule's outcome."""
    verdict = classify(seen, features)  # type: ignore[arg-type]
    rule = next(rule for rule in RULES if rule.name == verdict.rule)
    assert rule.outcome is verdict.outcome
    assert (verdict.table_row is None) == (verdict.outcome is Outcome.REFUSED)
    assert (verdict.masked is not None) == (verdict.outcome is Outcome.BYPASSED)


@given(observations, versions)
@settings(max_examples=400)
def test_evidence_of_an_unapproved_change_beats_every_other_fact(
    seen: Observation, features: object
) -> None:
    """A run that started and left an unexplained change is bypassed, whatever else is true."""
    changed = replace(seen, refusal=None, evidence=replace(seen.evidence, canonical_changed=True))
    verdict = classify(changed, features)  # type: ignore[arg-type]
    assert verdict.outcome is Outcome.BYPASSED
    innocent = replace(changed, evidence=replace(seen.evidence, canonical_changed=False))
    assert verdict.masked == classify(innocent, features)  # type: ignore[arg-type]


@given(observations, versions)
@settings(max_examples=300)
def test_a_failure_never_leaves_a_proposal_to_approve(seen: Observation, features: object) -> None:
    """Held means that nothing went wrong: no error line, no foreign exit, no cut."""
    verdict = classify(seen, features)  # type: ignore[arg-type]
    if verdict.outcome is Outcome.HELD:
        assert seen.proposals > 0
        assert not seen.report.errors
        assert not seen.report.truncated
        assert seen.exit_code == 0 or seen.killed is Killed.EXIT_HANG
