"""Facts of a run that a person should see though they do not change the outcome."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.core.model import Finding, Observation, Outcome, RunRecord

_SHOWN = 5


def of_run(
    observation: Observation,
    *,
    model_asked: str | None,
    watched_changes: Sequence[str],
    refused_peers: int,
    missing_guards: Sequence[str],
    survivors_left: int,
    sync_problem: str,
    has_events: bool,
) -> tuple[Finding, ...]:
    """Return the findings of one finished run.

    Args:
        observation: what is known of the run.
        model_asked: the model that the job names.
        watched_changes: paths of `.agents/` and git's hooks that changed during the run.
        refused_peers: processes that tried the run's socket and were not of the run.
        missing_guards: guarded paths at which nothing stood before or after.
        survivors_left: processes of the run that could not be ended in time.
        sync_problem: which output could not be made durable; empty where all could.
        has_events: the CLI printed events, so that their silence means something.
    """
    return (
        *_of_evidence(observation, watched_changes, missing_guards, refused_peers),
        *_of_machine(survivors_left, sync_problem),
        *_of_output(observation, model_asked, has_events=has_events),
    )


def _of_evidence(
    observation: Observation,
    watched_changes: Sequence[str],
    missing_guards: Sequence[str],
    refused_peers: int,
) -> Iterator[Finding]:
    evidence = observation.evidence
    for name, paths, text in (
        ("agent_configuration_changed", watched_changes, "executed or obeyed by later runs"),
        ("changed_between_runs", evidence.changed_between_runs, "no run did that"),
        ("outside_workspace", evidence.outside_paths, "named by a write tool"),
        ("guard_missing", missing_guards, "nothing stood there before the run or after it"),
        ("guard_unreadable", evidence.unreadable, "could not be digested"),
    ):
        if paths:
            yield Finding(id=name, detail=f"{text}: {_some(paths)}")
    if evidence.survivors_killed:
        yield Finding(
            id="survivors_killed",
            detail=f"{evidence.survivors_killed} processes outlived the CLI and were ended",
        )
    if refused_peers:
        yield Finding(
            id="door_refused",
            detail=f"{refused_peers} connections to the run's socket came from other processes",
        )


def _of_machine(survivors_left: int, sync_problem: str) -> Iterator[Finding]:
    if survivors_left:
        yield Finding(
            id="survivors_left",
            detail=f"{survivors_left} processes could not be ended; "
            "what they changed after the digests is not in the evidence",
        )
    if sync_problem:
        yield Finding(id="output_not_durable", detail=sync_problem)


def _of_output(
    observation: Observation, model_asked: str | None, *, has_events: bool
) -> Iterator[Finding]:
    report = observation.report
    if model_asked and report.model and report.model != model_asked:
        yield Finding(
            id="model_switched",
            detail=f"the job asks for {model_asked}, the log names {report.model}",
        )
    if has_events and observation.proposals and not report.gate_calls:
        yield Finding(
            id="queue_without_event",
            detail=f"{observation.proposals} proposals came in and no event shows how",
        )
    if report.gate_calls and not observation.proposals:
        yield Finding(
            id="event_without_queue",
            detail=f"{report.gate_calls} events ask the gate for a write and no proposal came in",
        )
    for note in report.notes:
        yield Finding(id="output_note", detail=note)


_IN_THE_DARK = frozenset({"plan_unreadable", "not_judged", "survivors_left", "guard_unreadable"})
"""Findings that say that something could have changed unseen."""


def watched_whole(record: RunRecord) -> bool:
    """Return whether evidence backs that a run left canonical data alone, or it never ran."""
    if record.outcome is Outcome.REFUSED:
        return True
    evidence = record.evidence
    in_the_dark = any(finding.id in _IN_THE_DARK for finding in record.findings)
    return evidence.watched and not evidence.unreadable and not in_the_dark


def unwatched_configuration(roots: Sequence[str], count: int, what: str) -> Finding:
    """Return the finding that the agents' configuration holds too much to be watched."""
    return Finding(
        id="agent_configuration_unwatched",
        detail=f"too much to digest ({count} entries seen, stopped by {what}): {_some(roots)}",
    )


def changed_configuration(paths: Sequence[str]) -> Finding:
    """Return the finding that the agents' configuration is not as the last run left it."""
    return Finding(
        id="agent_configuration_changed",
        detail=f"since the last run; executed or obeyed by this one: {_some(paths)}",
    )


def _some(paths: Sequence[str]) -> str:
    shown = ", ".join(paths[:_SHOWN])
    return shown if len(paths) <= _SHOWN else f"{shown} and {len(paths) - _SHOWN} more"
