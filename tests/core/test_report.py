"""The morning report as a value, and its first screen."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.layout import Style, span, time_left
from harness.core.model import (
    Acknowledgement,
    Evidence,
    Finding,
    Outcome,
    Reason,
    RunRecord,
    Verdict,
)
from harness.core.report import TAKE_STOCK, MorningReport, RunningRun, compose
from harness.core.screen import SCREEN_HEIGHT, screen
from harness.core.tiers import Proposal, ProposalState, sha256_of

NIGHT = datetime(2026, 11, 29, 18, 0, tzinfo=UTC)
MORNING = datetime(2026, 11, 30, 7, 0, tzinfo=UTC)
ZONE = ZoneInfo("Asia/Tokyo")
REASON_OF = {
    Outcome.HELD: Reason.PENDING,
    Outcome.ERRORED: Reason.TIMEOUT,
    Outcome.UNTOUCHED: Reason.NO_CHANGE,
    Outcome.BYPASSED: Reason.UNEXPLAINED,
    Outcome.REFUSED: Reason.PAUSED,
}


def run(job: str, outcome: Outcome, reason: Reason | None = None, **changes: object) -> RunRecord:
    """Return a run of the night."""
    facts: dict[str, object] = {
        "run_id": f"20261130T0230-{job}-3f9c",
        "job": job,
        "outcome": outcome,
        "reason": reason or REASON_OF[outcome],
        "rule": "any",
        "advice": f"harness run {job}",
        "detail": "some cause",
        "started_at": NIGHT,
        "ended_at": MORNING,
        "duration_s": 1.0,
        **changes,
    }
    return RunRecord(**facts)  # type: ignore[arg-type]


def proposal(number: int, state: ProposalState = ProposalState.PENDING) -> Proposal:
    """Return an open proposal."""
    return Proposal(
        id=f"{number:08x}",
        run_id="20261130T0230-ads-3f9c",
        job="ads",
        key=f"ads/{number}",
        state=state,
        reason="下限が低い\x1b[31m",
        value="1",
        base_version=0,
        value_sha256=sha256_of("1"),
        created_at=MORNING - timedelta(hours=number % 60),
        expires_at=MORNING + timedelta(days=3, hours=-(number % 60)),
    )


def report(
    runs: list[RunRecord],
    pending: list[Proposal] | None = None,
    running: list[RunningRun] | None = None,
    expired: list[Proposal] | None = None,
    notes: list[str] | None = None,
    acknowledged: list[Acknowledgement] | None = None,
) -> MorningReport:
    """Return the report of a night."""
    return compose(
        since=NIGHT,
        until=MORNING,
        running=running or [],
        runs=runs,
        pending=pending or [],
        expired=expired or [],
        notes=notes or [],
        acknowledged=acknowledged or [],
    )


def text_of(made: MorningReport, height: int = SCREEN_HEIGHT) -> list[str]:
    """Return the screen's lines as plain text."""
    return ["".join(words for _, words in line) for line in screen(made, zone=ZONE, height=height)]


def test_counts_name_every_outcome() -> None:
    """An outcome that did not happen stands there with 0."""
    made = report([run("a", Outcome.HELD), run("b", Outcome.HELD)])
    assert made.counts == {
        Outcome.HELD: 2,
        Outcome.ERRORED: 0,
        Outcome.UNTOUCHED: 0,
        Outcome.BYPASSED: 0,
        Outcome.REFUSED: 0,
    }


def test_findings_carry_their_run() -> None:
    """A finding can be traced to the run that has it."""
    found = Finding(id="survivors_killed", detail="2 processes")
    made = report([run("a", Outcome.HELD, findings=(found,))])
    (only,) = made.findings
    assert (only.job, only.id, only.detail) == ("a", "survivors_killed", "2 processes")


def test_the_advice_to_take_stock_stands_once() -> None:
    """However many quiet jobs there were, the rules are mentioned in one line."""
    made = report([run(f"job{number}", Outcome.UNTOUCHED) for number in range(5)])
    assert made.advice.count(TAKE_STOCK) == 1
    assert sum(TAKE_STOCK in line for line in text_of(made)) == 1
    assert TAKE_STOCK not in report([run("a", Outcome.HELD)]).advice


def test_bypassed_comes_first_and_loudest() -> None:
    """The first question of the morning is answered on the second line."""
    masked = Verdict(outcome=Outcome.HELD, reason=Reason.PENDING, rule="held", table_row=1)
    evidence = Evidence(canonical_changed=True, changed_paths=("/srv/ws/data/prices.json",))
    lines = text_of(
        report(
            [
                run("quiet", Outcome.UNTOUCHED),
                run("prices", Outcome.BYPASSED, evidence=evidence, masked=masked),
            ],
            pending=[proposal(1)],
        )
    )
    assert lines[1].startswith("1 run changed canonical data past the gate.")
    text = "\n".join(lines)
    assert "data/prices.json" in text
    assert "(else held/pending)" in text
    assert text.index("BYPASSED") < text.index("HELD") < text.index("UNTOUCHED")


def test_a_bypass_of_an_earlier_night_is_not_forgotten() -> None:
    """Until somebody acknowledges it, each morning names it, and does not say that all is well."""
    old = run("prices", Outcome.BYPASSED)
    made = compose(
        since=NIGHT,
        until=MORNING,
        running=[],
        runs=[run("quiet", Outcome.UNTOUCHED)],
        pending=[],
        expired=[],
        earlier_bypasses=[old],
    )
    lines = text_of(made)
    assert made.counts[Outcome.BYPASSED] == 0
    assert "Nothing waits for you" not in lines[1]
    (line,) = [line for line in lines if "not acknowledged" in line]
    assert line == f"prices bypassed earlier, not acknowledged: harness runs show {old.run_id}"


def test_quiet_jobs_share_a_line() -> None:
    """Jobs without a change take one line together; denied and empty ones are told apart."""
    lines = text_of(
        report(
            [
                run("one", Outcome.UNTOUCHED),
                run("two", Outcome.UNTOUCHED),
                run("two", Outcome.UNTOUCHED),
                run("shy", Outcome.UNTOUCHED, Reason.DENIED),
            ]
        )
    )
    assert "  quiet (3): one, two ×2" in lines
    assert "  denied: shy" in lines


def test_a_night_without_runs_is_no_good_night() -> None:
    """Silence and "never ran" differ."""
    assert "Nothing ran" in text_of(report([]))[1]


@pytest.mark.parametrize(
    "dark",
    [
        {"evidence": Evidence(watched=False)},
        {"evidence": Evidence(unreadable=("/w/data",))},
        *(
            {"findings": (Finding(id=name, detail="why"),)}
            for name in ("plan_unreadable", "not_judged", "survivors_left", "guard_unreadable")
        ),
    ],
)
def test_what_could_not_be_watched_is_said_on_the_second_line(dark: dict[str, Any]) -> None:
    """Nothing got past the gate is said only where somebody looked, whatever the outcome."""
    unseen = replace(run("a", Outcome.ERRORED, Reason.HARNESS_CRASHED), **dark)
    line = text_of(report([unseen, run("b", Outcome.UNTOUCHED, Reason.NO_CHANGE)]))[1]
    assert line.startswith(
        "Nothing was seen to get past the gate; 1 run could not be watched whole."
    )


def test_what_never_ran_needs_no_watching() -> None:
    """A refused run changed nothing, so that the night is as good as its other runs."""
    refused = replace(run("a", Outcome.REFUSED, Reason.DISK), evidence=Evidence(watched=False))
    assert text_of(report([refused]))[1].startswith("Nothing got past the gate.")


def test_running_expired_quarantined_and_notes_are_on_the_screen() -> None:
    """What is on, what ran out, what is quarantined, and what the reader must know."""
    text = "\n".join(
        text_of(
            report(
                [run("bad", Outcome.ERRORED), run("no", Outcome.REFUSED)],
                pending=[proposal(1, ProposalState.QUARANTINED)],
                running=[RunningRun(run_id="x", job="long", started_at=NIGHT)],
                expired=[proposal(2, ProposalState.EXPIRED)],
                notes=["the store is read-only"],
            )
        )
    )
    for words in (
        "long  for 13h",
        "expired since 1: ads/2",
        "QUARANTINED  1 proposal of runs that went wrong",
        "note: the store is read-only",
        "REFUSED",
        "paused",
        "Nothing waits for you.",
    ):
        assert words in text, words


def test_times_are_local_and_words_are_as_written() -> None:
    """The head is in the reader's zone; Japanese stays; escapes are made visible."""
    lines = text_of(report([run("a", Outcome.HELD)], pending=[proposal(1)]))
    assert "Mon 30 Nov 03:00 → Mon 30 Nov 16:00" in lines[0]
    (reason,) = [line for line in lines if "下限が低い" in line]
    assert "\x1b" not in reason


def word(of: RunRecord) -> Acknowledgement:
    """Return what a person said about a bypass."""
    at = MORNING - timedelta(minutes=30)
    return Acknowledgement(run_id=of.run_id, at=at, actor="root@cli", reason="put\nback")


def test_an_acknowledged_bypass_is_no_fresh_alarm() -> None:
    """It stands last with who, when and why; the headline says that nothing is new."""
    seen = run("prices", Outcome.BYPASSED)
    made = report([seen, run("quiet", Outcome.UNTOUCHED)], acknowledged=[word(seen)])
    lines = text_of(made)
    assert lines[1].startswith("Nothing new got past the gate; 1 bypass acknowledged.")
    text = "\n".join(lines)
    assert "acknowledged 15:30 by root: put back" in text
    assert text.index("UNTOUCHED") < text.index("BYPASSED, and acknowledged")
    assert not any(advice.startswith("prices") for advice in made.advice)


def test_only_unhandled_bypasses_are_counted_in_the_headline() -> None:
    """Of two, one acknowledged: one is left, and it is what waits."""
    seen, fresh = run("seen", Outcome.BYPASSED), run("fresh", Outcome.BYPASSED)
    lines = text_of(report([fresh, seen], acknowledged=[word(seen)]))
    assert lines[1] == "1 run changed canonical data past the gate."
    assert made_section(lines, "BYPASSED  changed")[0].startswith("  fresh")


def made_section(lines: list[str], title: str) -> list[str]:
    """Return the lines below a section's title, up to the next blank one."""
    start = next(at for at, line in enumerate(lines) if line.startswith(title)) + 1
    end = next((at for at in range(start, len(lines)) if not lines[at]), len(lines))
    return lines[start:end]


def test_failures_are_folded_by_job_and_reason() -> None:
    """Three of a kind take one row, with the newest cause; another reason has its own."""
    failed = [run("ads", Outcome.ERRORED, detail=f"cause {number}") for number in range(3)]
    lines = made_section(
        text_of(report([*failed, run("ads", Outcome.ERRORED, Reason.IDLE)])), "ERRORED"
    )
    assert lines[0] == "  ads  timeout ×3  cause 0"
    assert lines[2].startswith("  ads  idle")


def test_what_a_later_run_made_good_stands_below_what_is_open() -> None:
    """The job ran well afterwards: no advice any more, and what came of it."""
    failed = run("ads", Outcome.ERRORED, ended_at=MORNING - timedelta(hours=2))
    lines = made_section(
        text_of(report([run("ads", Outcome.HELD), failed, run("open", Outcome.ERRORED)])), "ERRORED"
    )
    assert lines == [
        "  open  timeout  some cause",
        "    → harness run open",
        "  ads  timeout  later: held",
    ]


runs = st.lists(
    st.builds(run, st.sampled_from(["a", "b", "long-name"]), st.sampled_from(list(Outcome))),
    max_size=60,
)
proposals = st.lists(
    st.builds(
        proposal,
        st.integers(0, 1000),
        st.sampled_from([ProposalState.PENDING, ProposalState.QUARANTINED]),
    ),
    max_size=60,
)


@given(runs, proposals, st.integers(0, 30))
def test_the_screen_holds_the_whole_verdict(
    done: list[RunRecord], waiting: list[Proposal], running: int
) -> None:
    """Whatever the night, the screen fits, counts all, and every outcome that happened is named."""
    on = [RunningRun(run_id=f"r{number}", job="on", started_at=NIGHT) for number in range(running)]
    made = report(done, waiting, on, expired=waiting[:3], notes=["one", "two", "three"])
    lines = text_of(made)
    assert len(lines) <= SCREEN_HEIGHT - 1
    for outcome in Outcome:
        assert f"{outcome.value} {made.counts[outcome]}" in lines[2]
    text = "\n".join(lines)
    if made.counts[Outcome.BYPASSED]:
        assert "BYPASSED" in text
    shown = sum(1 for line in lines if line.startswith("  0000"))
    hidden = [line for line in lines if "more: harness pending list" in line]
    assert shown == len(waiting) or hidden


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (59, "59s"), (60, "1m"), (61, "1m 1s"), (3600, "1h"), (90_061, "1d 1h")],
)
def test_spans_have_two_units(seconds: int, text: str) -> None:
    """A duration is told in its two largest units."""
    assert span(timedelta(seconds=seconds)) == text


def test_time_left_never_runs_below_nothing() -> None:
    """An overdue proposal has no time left, not a negative one."""
    assert time_left(proposal(1), MORNING + timedelta(days=9)) == "0s"


def test_every_style_has_a_look() -> None:
    """The renderer knows every style that the screen uses."""
    from harness.cli.render_report import _LOOK

    assert set(_LOOK) == set(Style)
