"""What the CLI answers by itself, without a model: slash commands and `models`."""

from __future__ import annotations

import time
from collections.abc import Mapping

from harness.testing.behaviour import Trait
from harness.testing.files import Files
from harness.testing.flags import Options
from harness.testing.scenario import Scenario
from harness.testing.stage import USAGE_KEYS
from harness.testing.voice import Voice

_MODELS = {"gemini-3-flash": "Gemini 3 Flash", "gemini-3-pro-high": "Gemini 3 Pro (High)"}
_WEEK_S = 7 * 86_400
_GROUP = "Gemini Models"
_REMAINING = 0.82

Answer = tuple[str, Mapping[str, object]]


def is_slash(options: Options) -> bool:
    """Return whether the prompt is a command to the CLI and not to the model."""
    prompt = options.prompt or ""
    return prompt.startswith("/") and not options.on("disable-slash-commands")


def answer(prompt: str, voice: Voice, files: Files, has: Mapping[Trait, bool]) -> int:
    """Answer a slash command; return the exit status."""
    name = prompt[1:].split(" ", 1)[0].strip()
    if name == "usage" and has[Trait.ANSWERS_USAGE]:
        _give(voice, name, _usage())
    elif name == "permissions" and has[Trait.ANSWERS_USAGE]:
        _give(voice, name, _permissions(files))
    elif name in ("config", "hooks") and has[Trait.ANSWERS_HOOKS]:
        _give(voice, name, _settings(files, name))
    else:
        voice.complain(f"Error: unknown slash command: /{name}")
        return 1
    return 0


def list_models(scenario: Scenario, voice: Voice) -> int:
    """Answer `models`; return the exit status."""
    voice.complain("Fetching available models...")
    models = scenario.models or _MODELS
    rows = [{"id": name, "label": label} for name, label in models.items()]
    text = "".join(f"{name}\t{label}\n" for name, label in models.items())
    _give(voice, "models", (text, {"models": rows}))
    return 0


def _give(voice: Voice, name: str, found: Answer) -> None:
    text, data = found
    command = {"name": name, "data": data}
    content: dict[str, object] = {
        "conversation_id": "",
        "status": "SUCCESS",
        "response": text,
        "duration_seconds": 0,
        "num_turns": 0,
        "usage": dict.fromkeys(USAGE_KEYS, 0),
    }
    voice.say(text)
    voice.event({"event": "command_result", "command": command})
    voice.result(content if voice.form == "stream-json" else {**content, "command": command})


def _usage() -> Answer:
    resets = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + _WEEK_S))
    bucket = {
        "id": "gemini-weekly",
        "name": "Weekly Limit Remaining",
        "window": "weekly",
        "remaining_fraction": _REMAINING,
        "reset_time": resets,
    }
    text = f"{_GROUP}\t{bucket['name']}\t{_REMAINING:.0%}\t{resets}\n"
    return text, {"groups": [{"name": _GROUP, "description": _GROUP, "buckets": [bucket]}]}


def _permissions(files: Files) -> Answer:
    found = files.settings().get("permissions")
    rules = found if isinstance(found, dict) else {}
    lines = [f"{kind}\t{rule}\n" for kind, listed in rules.items() for rule in _items(listed)]
    return "".join(lines), {"permissions": rules}


def _settings(files: Files, name: str) -> Answer:
    settings = files.settings()
    data = settings if name == "config" else {"hooks": settings.get("hooks", [])}
    return "".join(f"{key}\t{value}\n" for key, value in data.items()), data


def _items(listed: object) -> list[object]:
    return listed if isinstance(listed, list) else [listed]
