"""How long an audit takes: 500 rules and 10,000 over four layers, and hostile ones among them.

Run it with `python benchmarks/audit.py`. What is timed is the command as a person gives it, by
processor time; the best of several rounds counts, since others on the machine only slow down.
The bars: 500 rules in 2 s, 10,000 in 20 times the time of 500, and no pattern that stalls it.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

SIZES = (500, 10_000)
ROUNDS = 3
MOST_S = 2.0
MOST_TIMES = 20.0
HOSTILE_S = 5.0
PROGRAMS = (
    "git",
    "npm",
    "ls",
    "cat",
    "gh",
    "pytest",
    "cargo",
    "make",
    "curl",
    "rg",
    "docker",
    "sed",
)
VERBS = ("status", "log", "run", "list", "build", "test", "view", "push", "-n", "--version")


def rule(index: int) -> str:
    """Return one rule of a mix that is the same however many there are; no two are equal."""
    program = PROGRAMS[index // 8 % len(PROGRAMS)]
    verb = VERBS[index // (8 * len(PROGRAMS)) % len(VERBS)]
    kinds = (
        f"write_file(src/part{index})",
        f"read_file(/srv/data{index})",
        f"read_url(host{index}.example.com)",
        f"mcp(server{index % 40}/tool{index})",
        f"command(regex:{program} {verb} [a-z0-9]+{index})",
        f"command(regex:{program} ({verb}|show) item-{index})",
        f"command({program} {verb} item-{index})",
        f"command({program} {verb} --name={index})",
    )
    return kinds[index % 8]


def hostile() -> list[str]:
    """Return patterns that make a backtracking matcher, or a careless one, stall."""
    return [
        f"command(regex:{'(a+)+' * 200}b)",
        f"command(regex:{'(x{0,1000})' * 50})",
        f"command(regex:{'(?:a|' * 500}a{')' * 500}*)",
        f"command(regex:{'[a-z]*' * 1700})",
        f"command({'x ' * 5000})",
        f"command({'$(' * 3000})",
        f"write_file({'/../a' * 2500})",
    ]


def write_root(root: Path, rules: list[str]) -> None:
    """Write rules over the four layers that hold them, one deny to eight allows."""
    layers: list[dict[str, list[str]]] = [{"allow": [], "deny": []} for _ in range(4)]
    for index, text in enumerate(rules):
        layers[index % 4]["deny" if index % 9 == 0 else "allow"].append(text)
    own, shared, project, sidecar = layers
    files: dict[str, object] = {
        "antigravity-cli/settings.json": {"permissions": own},
        "config/config.json": {"userSettings": {"globalPermissionGrants": shared}},
        "config/projects/p.json": {"permissionGrants": {"permissionGrants": project}},
        "config/sidecars/s/sidecar.json": {
            "agent_permissions": {"access_grants": sidecar["allow"] + sidecar["deny"]}
        },
    }
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(content, indent=2), encoding="utf-8")


def audited_in(rules: list[str]) -> float:
    """Return the processor seconds that `harness audit` needs from its start to its end."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "gemini"
        write_root(root, rules)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "harness", "audit", "--cli-version", "1.3.3"]
        done = subprocess.run(
            [*command, "--json", "--settings-root", str(root)],
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "HOME": folder},
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode in {1, 3}, done.stderr
    assert len(json.loads(done.stdout)["findings"]) >= len(rules) - 1
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Print the times and their ratio; 1 where a bar is missed."""
    best = {
        size: min(audited_in([rule(index) for index in range(size)]) for _ in range(ROUNDS))
        for size in SIZES
    }
    for size, seconds in best.items():
        print(f"{size:6} rules {seconds:8.2f} s")
    ratio = best[SIZES[1]] / best[SIZES[0]]
    stalled = audited_in(hostile())
    print(f"ratio        {ratio:8.1f} (bar: {MOST_TIMES:.0f})")
    print(f"hostile      {stalled:8.2f} s (bar: {HOSTILE_S})")
    good = best[SIZES[0]] < MOST_S and ratio <= MOST_TIMES and stalled < HOSTILE_S
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
