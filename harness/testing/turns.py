"""How a turn begins and how it ends: the prompt, the result, the notices, the exit status."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from harness.testing.behaviour import Trait
from harness.testing.go import format_duration
from harness.testing.stage import Turn

if TYPE_CHECKING:
    from harness.testing.stage import Stage

RULE_EXAMPLE = "Add an allow-rule under permissions.allow in settings.json (e.g. {examples})."
SKIP_HINT = " Alternatively, re-run with --dangerously-skip-permissions to auto-approve all tools."


def begin_turn(stage: Stage, prompt: str) -> None:
    """Take a prompt."""
    stage.turn = Turn(prompt=prompt, began=time.monotonic())
    stage.record.line("turn", prompt=prompt, conversation_id=stage.conversation.id)
    stage.files.log(f"Print mode: starting turn (conversation={stage.conversation.id})")
    index = stage.step("user_input")
    stage.transcribe(index, "USER", "user_input", content=prompt)


def end_turn(
    stage: Stage, changes: Mapping[str, object] | None = None, *, omit: tuple[str, ...] = ()
) -> None:
    """Write the result of the turn, with what a scenario changes in it."""
    turn, conversation = stage.turn, stage.conversation
    if not turn.resulted:
        conversation.turns += 1
        conversation.seconds += time.monotonic() - turn.began
        for name, number in turn.usage.items():
            conversation.usage[name] = conversation.usage.get(name, 0) + number
        if turn.notice and not (turn.said and stage.behaviour.has(Trait.TEXT_HIDES_DENIAL)):
            stage.voice.complain(turn.notice)
    content = {**_result(stage), **(changes or {})}
    stage.voice.result({key: value for key, value in content.items() if key not in omit})
    turn.resulted = True
    conversation.error = conversation.error or turn.error
    stage.files.remember(conversation)


def _result(stage: Stage) -> dict[str, object]:
    turn, conversation = stage.turn, stage.conversation
    error = turn.error or conversation.error
    content: dict[str, object] = {
        "conversation_id": conversation.id,
        "status": turn.status or ("ERROR" if error else "SUCCESS"),
        "response": turn.response,
        "duration_seconds": round(conversation.seconds, 6),
        "num_turns": conversation.turns,
        "usage": dict(conversation.usage),
    }
    if error:
        content["error"] = error
    if turn.denied and stage.behaviour.has(Trait.DENIED_ACTIONS):
        content["denied_actions"] = [
            {"action": kind, "display_name": name} for kind, name in turn.denied
        ]
    return content


def denial_notice(kinds: list[str], *, short: bool, folded: bool) -> str:
    """Return the line that names denied permissions.

    Args:
        kinds: every kind denied in this conversation.
        short: without the last sentence, as some versions print it.
        folded: broken over several lines.
    """
    names = ", ".join(f'"{kind}"' for kind in kinds)
    examples = ", ".join(f"{kind}(<target>)" for kind in kinds)
    if len(kinds) == 1:
        subject, pronoun = f"a tool required the {names} permission", "it was"
    else:
        subject, pronoun = f"one or more tools required the {names} permissions", "they were"
    text = (
        f"jetski: no output produced — {subject} that headless mode cannot prompt for, "
        f"so {pronoun} auto-denied. {RULE_EXAMPLE.format(examples=examples)}"
    )
    text += "" if short else SKIP_HINT
    if not folded:
        return text
    import textwrap

    return textwrap.fill(text, 72, break_long_words=False, break_on_hyphens=False)


def interrupted(stage: Stage) -> int:
    """End after SIGINT or SIGTERM; return the exit status."""
    if not stage.turn.resulted:
        stage.turn.status, stage.turn.error = "ERROR", "interrupted"
        end_turn(stage)
    stage.end_background()
    stage.voice.complain("error: interrupted")
    return 1


def timed_out(stage: Stage) -> int:
    """End after the print-timeout; return the exit status."""
    turn, behaviour = stage.turn, stage.behaviour
    stage.end_background()
    if turn.resulted:
        return turn.exit
    shown = format_duration(stage.options.print_timeout_s or 0)
    stage.files.log(f"Print mode: timed out after {shown}", level="W")
    if not behaviour.has(Trait.TELLS_SERVER_ERRORS):
        stage.voice.complain("Error: timed out waiting for response")
        return 0
    if not behaviour.has(Trait.TIMEOUT_IS_PARTIAL):
        end_turn(stage, {"status": "ERROR", "error": "timeout waiting for response"})
        stage.voice.complain("Error: timeout waiting for response")
        return 1
    error = {"error": "timeout waiting for response"} if stage.timeout_status == "ERROR" else {}
    end_turn(stage, {"status": stage.timeout_status, **error})
    stage.voice.complain(
        f"[agy] print timeout after {shown} with turn in progress; returning partial output"
    )
    return 0
