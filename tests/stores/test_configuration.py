"""Settings, jobs and limits: what is read, and how every mistake is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.core.job import Isolate, JobSpec
from harness.core.limits import GateLimits
from harness.core.tiers import Tier
from harness.errors import ConfigurationProblem, UnknownName
from harness.stores import configuration
from harness.stores.configuration import (
    HomeSettings,
    JobProblem,
    check_jobs,
    load_gate_limits,
    load_home_settings,
    load_job,
    load_jobs,
    read_job,
    workspaces_of,
)
from harness.stores.homes import Home
from harness.stores.job_table import JobFile
from tests.helpers.homes import new_home, toml_value, write_job


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A new home."""
    return new_home(tmp_path / "home")


def lines_of(home: Home, name: str) -> list[str]:
    """Return every mistake of a job, a line each."""
    with pytest.raises(ConfigurationProblem) as caught:
        load_job(home, name)
    return str(caught.value).split("\n")


def test_the_sample_settings_are_the_defaults(home: Home) -> None:
    """A new home's settings are valid and change nothing."""
    assert load_home_settings(home) == HomeSettings()


def test_settings_are_read(home: Home, own_environment: Path) -> None:
    """Path, isolation and room are taken from the file, `~` resolved."""
    home.settings_file.write_text(
        '[agy]\npath = "~/agy"\nisolate = "off"\n[state]\nmin_free = "1GiB"\n'
    )
    assert load_home_settings(home) == HomeSettings(
        agy_path=str(own_environment / "agy"), isolate=Isolate.OFF, min_free_bytes=1 << 30
    )


def test_every_mistake_of_the_settings_is_told(home: Home) -> None:
    """Unknown tables and keys, wrong types and wrong values are all named at once."""
    home.settings_file.write_text(
        'state = 3\nfoo = 1\n[agy]\npth = "x"\npath = "rel"\nisolate = "none"\n'
    )
    with pytest.raises(ConfigurationProblem) as caught:
        load_home_settings(home)
    text = str(caught.value)
    for part in (
        "state: expected a table, written [state], got the number 3",
        "foo: unknown key; known are: agy, state",
        'agy.pth: unknown key; did you mean "path"?',
        'agy.path: expected an absolute path, or one that begins with ~/, got "rel"',
        'agy.isolate: expected one of "auto", "bubblewrap", "off", got "none"',
    ):
        assert part in text
    assert all(line.startswith(str(home.settings_file)) for line in text.split("\n"))


@pytest.mark.parametrize("text", ['[agy]\npath = "~nobody-here/x"', '[state]\nmin_free = "much"'])
def test_unusable_values_of_the_settings_are_told(home: Home, text: str) -> None:
    """A path of a user who does not exist and a size that is none are mistakes."""
    home.settings_file.write_text(text)
    with pytest.raises(ConfigurationProblem, match="expected"):
        load_home_settings(home)


def test_a_size_without_quotes_is_told_how_it_is_written(home: Home) -> None:
    """A bare number has no unit; the message shows what has one."""
    home.settings_file.write_text("[state]\nmin_free = 5\n")
    expected = r'state.min_free: expected a size in quotes such as "256MiB", got the number 5'
    with pytest.raises(ConfigurationProblem, match=expected):
        load_home_settings(home)


def test_a_small_job_gets_every_default(home: Home) -> None:
    """Prompt and workspace are enough; the rest is filled in."""
    write_job(home, "small")
    job = load_job(home, "small")
    assert job == JobSpec(
        name="small",
        prompt="Say hello.",
        workspace=str(home.root.parent / "workspace"),
        agent_id="small",
        digest=job.digest,
    )


def test_a_full_job_is_read(home: Home, own_environment: Path) -> None:
    """Every key ends up in the job, in seconds, bytes and absolute paths."""
    workspace = home.root.parent / "workspace"
    write_job(
        home,
        "full",
        tiers=["canonical", "journal"],
        schedule="*-*-* 02:30",
        window="22:00-06:00",
        max_delay="0s",
        timeout="1h30m",
        idle_timeout="90s",
        exit_grace="0s",
        memory="4G",
        max_output="512MiB",
        expected="20m",
        produces=["out/{date}.md"],
        guard=["data", "."],
        model="m",
        mode="plan",
        args=["--sandbox", "--json-schema", "x"],
        gemini_dir="~/.gemini-night",
        env=["GEMINI_API_KEY"],
        expose=["~/.cache", "/opt"],
        isolate="bubblewrap",
        agent_id="A.b-c_1",
        must_deny=["command(rm)"],
        retries=2,
        budget=1.5,
        site="blog",
        spool=True,
    )
    job = load_job(home, "full")
    assert job == JobSpec(
        name="full",
        prompt="Say hello.",
        workspace=str(workspace),
        tiers=(Tier.JOURNAL, Tier.CANONICAL),
        schedule="*-*-* 02:30",
        window="22:00-06:00",
        max_delay_s=0.0,
        timeout_s=5400.0,
        idle_timeout_s=90.0,
        exit_grace_s=0.0,
        memory_bytes=4 << 30,
        max_output_bytes=512 << 20,
        expected_s=1200.0,
        produces=("out/{date}.md",),
        guard=("data", "."),
        model="m",
        mode="plan",
        args=("--sandbox", "--json-schema", "x"),
        gemini_dir=str(own_environment / ".gemini-night"),
        env=("GEMINI_API_KEY",),
        expose=(str(own_environment / ".cache"), "/opt"),
        isolate=Isolate.BUBBLEWRAP,
        agent_id="A.b-c_1",
        must_deny=("command(rm)",),
        retries=2,
        budget=1.5,
        site="blog",
        spool=True,
        digest=job.digest,
    )


def test_isolation_of_the_home_holds_where_a_job_says_nothing(home: Home) -> None:
    """The job's own word comes first, then the home's."""
    home.settings_file.write_text('[agy]\nisolate = "off"\n')
    write_job(home, "silent")
    write_job(home, "loud", isolate="auto")
    assert load_job(home, "silent").isolate is Isolate.OFF
    assert load_job(home, "loud").isolate is Isolate.AUTO


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"workspace": None}, "workspace: missing: expected a folder"),
        ({"workspace": 3}, 'workspace: expected text, such as "a", got the number 3'),
        ({"workspace": "relative"}, "workspace: expected an absolute path"),
        ({"workspace": "~nobody-here/x"}, "workspace: expected an absolute path"),
        ({"workspace": "/nowhere/at/all"}, "workspace: expected a folder that is there"),
        ({"workspace": "/etc/passwd"}, "workspace: expected a folder that is there"),
        ({"prompt": None}, "prompt: expected exactly one of prompt, prompt_file and batch, got no"),
        ({"batch": "a.py:f"}, "prompt: expected exactly one of prompt, prompt_file and batch, got"),
        ({"prompt": " \n"}, "prompt: expected a prompt, got nothing but blanks"),
        ({"prompt": "a\0b"}, "prompt: a prompt cannot hold the character NUL"),
        ({"prompt": 3}, 'prompt: expected text, such as "a", got the number 3'),
        ({"tiers": []}, "tiers: expected at least one of"),
        ({"tiers": ["journl"]}, 'tiers: expected some of "ephemeral", "journal", "canonical", got'),
        (
            {"tiers": "journal"},
            'tiers: expected a list of texts, such as ["a", "b"], got "journal"',
        ),
        ({"tiers": ["a", 3]}, "tiers: expected a list of texts"),
        ({"timeout": 600}, 'timeout: expected a duration such as "45m" or "1h30m", got the number'),
        ({"timeout": "0s"}, "timeout: expected a duration"),
        ({"timeout": "soon"}, 'timeout: expected a duration such as "45m" or "1h30m", more than'),
        ({"timeout": "9" * 400 + "d"}, "timeout: expected a duration"),
        ({"timeout": "400d"}, "timeout: expected a duration"),
        ({"max_delay": "-4h"}, "max_delay: expected a duration"),
        ({"memory": "0"}, "memory: expected a size"),
        ({"memory": "9" * 400}, "memory: expected a size"),
        (
            {"max_output": 5},
            'max_output: expected a size such as "512MiB" or "4G", got the number 5',
        ),
        ({"produces": ["/etc"]}, "produces: expected a path relative to the workspace"),
        ({"guard": ["a/../../b"]}, "guard: expected a path relative to the workspace, without .."),
        ({"guard": [""]}, "guard: expected a path relative"),
        ({"schedule": " "}, "schedule: expected some text, got nothing"),
        ({"window": ""}, "window: expected some text"),
        ({"model": "-x"}, "model: expected a name that does not begin with -"),
        ({"model": "a\nb"}, "model: expected a name"),
        ({"mode": "yolo"}, 'mode: expected "accept-edits" or "plan", got "yolo"'),
        ({"mode": ""}, "mode: expected some text"),
        ({"window": "22-6"}, 'window: expected hours such as "22:00-06:00", got "22-6"'),
        ({"window": "22:00-24:30"}, "window: expected hours"),
        ({"timeout": "8d"}, "timeout: expected a duration"),
        ({"produces": ["{day}.md"]}, "produces: {day} is filled in by nothing; known is {date}"),
        ({"expose": ["/usr/.."]}, "expose: / gives back everything"),
        ({"args": ["-p=hi"]}, 'args: the harness itself sets -p; use the key "prompt"'),
        (
            {"args": ["--print", "hi"]},
            'args: the harness itself sets --print; use the key "prompt"',
        ),
        (
            {"args": ["-add-dir=/"]},
            'args: the harness itself sets -add-dir; use the key "workspace"',
        ),
        ({"args": ["--Log-File", "x"]}, "args: the harness itself sets --Log-File; leave it out"),
        ({"args": ["--sandbox", "-c"]}, "args: the harness itself sets -c; leave it out"),
        ({"args": ["--sandbox", "--"]}, 'args: expected flags of the CLI, got "--"'),
        ({"args": ["word"]}, 'args: expected flags of the CLI, got "word"'),
        ({"args": [""]}, "args: expected texts that are not empty"),
        ({"gemini_dir": "here"}, "gemini_dir: expected an absolute path"),
        ({"env": ["A=b"]}, "env: expected names of variables, without values"),
        ({"env": ["HARNESS_HOME"]}, "env: HARNESS_HOME is never passed on"),
        ({"env": ["ANTIGRAVITY_AGENT"]}, "env: ANTIGRAVITY_AGENT is never passed on"),
        ({"env": ["DBUS_SESSION_BUS_ADDRESS"]}, "env: DBUS_SESSION_BUS_ADDRESS is never passed on"),
        ({"expose": ["x"]}, "expose: expected an absolute path"),
        ({"isolate": "yes"}, 'isolate: expected one of "auto", "bubblewrap", "off", got "yes"'),
        ({"agent_id": "a:b"}, "agent_id: expected 1 to 128 of"),
        ({"must_deny": [""]}, "must_deny: expected texts that are not empty"),
        ({"retries": -1}, "retries: expected a whole number from 0 to 100, got the number -1"),
        ({"retries": True}, "retries: expected a whole number, got true"),
        ({"budget": 0}, "budget: expected a positive amount"),
        ({"budget": "much"}, "budget: expected a number"),
        ({"spool": "no"}, 'spool: expected true or false, got "no"'),
        ({"timout": "1m"}, 'timout: unknown key; did you mean "timeout"?'),
        ({"zzzz": 1}, "zzzz: unknown key; known are: prompt, prompt_file, batch, workspace"),
        ({"batch": "nope", "prompt": None}, 'batch: expected "script.py:function", got "nope"'),
        ({"batch": "../a.py:f", "prompt": None}, "batch: expected a file beside the job's TOML"),
        ({"batch": "a.py:f", "prompt": None}, "cannot be read: no such file"),
        ({"prompt_file": "../x", "prompt": None}, "prompt_file: expected a file beside the job's"),
        ({"prompt_file": "/etc/passwd", "prompt": None}, "prompt_file: expected a file beside"),
        ({"prompt_file": "", "prompt": None}, "prompt_file: expected a file beside"),
        ({"prompt_file": "no.md", "prompt": None}, "no.md: cannot be read: no such file"),
    ],
)
def test_a_mistake_is_one_line(home: Home, keys: dict[str, object], told: str) -> None:
    """Each mistake names file, key, what was expected and what was given."""
    write_job(home, "job", **keys)
    (line,) = lines_of(home, "job")
    assert line.startswith("nightly/job.toml: ")
    assert told in line


def test_every_mistake_of_a_job_is_told_at_once(home: Home) -> None:
    """One reading names them all, so that nobody mends a file in rounds."""
    write_job(
        home, "job", workspace="x", timeout=3, timout="1m", retries=-1, env=["1A"], prompt=None
    )
    keys = {line.split(": ")[1] for line in lines_of(home, "job")}
    assert keys == {"workspace", "timeout", "timout", "retries", "env", "prompt"}


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b'prompt = "a', "not valid TOML: "),
        (b"a = 1\na = 2\n", "not valid TOML: Cannot overwrite a value (at line 2"),
        (b"a = " + b"[" * 20_000, "nested too deeply"),
        (b"a = 1" + b"0" * 6000, "not valid TOML"),
        (b"\xef\xbb\xbfa = 1", "byte order mark"),
        (b'x = 1\na = "\xff"', "not UTF-8: byte 0xff on line 2"),
        (b"#" * (1024 * 1024 + 1), "at most 1048576 bytes"),
        (b"x = 1979-05-27", "known are"),
        (b"retries = 1979-05-27", "expected a whole number, got the date or time 1979-05-27"),
        (b"retries = {a = 1}", "expected a whole number, got a table"),
        (b'"a\\u001b[2J" = 1', "a\\x1b[2J: unknown key"),
    ],
)
def test_a_file_that_is_no_job_is_told(home: Home, data: bytes, told: str) -> None:
    """Broken, oversized and foreign files give a line of their own, with what is hidden shown."""
    (home.nightly / "job.toml").write_bytes(data)
    assert told in "\n".join(lines_of(home, "job"))


def test_what_is_no_file_is_no_job(home: Home) -> None:
    """A pipe or a folder named like a job is told, and nothing waits on it."""
    os.mkfifo(home.nightly / "pipe.toml")
    (home.nightly / "folder.toml").mkdir()
    for name in ("pipe", "folder"):
        assert lines_of(home, name) == [
            f"nightly/{name}.toml: expected a regular file, found something else"
        ]


def test_a_bad_name_is_told(home: Home) -> None:
    """A job whose file is named beyond the pattern stands as a problem."""
    write_job(home, "Bad Name")
    (problem,) = load_jobs(home)
    assert isinstance(problem, JobProblem)
    assert "named by its file" in problem.problems[0].line


def test_a_broken_job_hides_no_other(home: Home) -> None:
    """All jobs are listed by name, and editors' leftovers are not."""
    write_job(home, "b")
    write_job(home, "a", timeout="x")
    write_job(home, "c")
    (home.nightly / ".#c.toml").symlink_to("nowhere")
    jobs = load_jobs(home)
    assert [(job.name, isinstance(job, JobSpec)) for job in jobs] == [
        ("a", False),
        ("b", True),
        ("c", True),
    ]


def test_a_prompt_can_stand_in_a_file(home: Home) -> None:
    """A prompt file beside the TOML is read, also in a folder below and in Japanese."""
    (home.nightly / "prompts").mkdir()
    (home.nightly / "prompts" / "p.md").write_text("日本語で\n", encoding="utf-8")
    write_job(home, "job", prompt=None, prompt_file="prompts/p.md")
    assert load_job(home, "job").prompt == "日本語で\n"


def test_a_prompt_file_that_is_a_link_outside_is_refused(home: Home) -> None:
    """What decides a job lies in its home; a link that leads out is told."""
    secret = home.root.parent / "secret"
    secret.write_text("x")
    (home.nightly / "p.md").symlink_to(secret)
    write_job(home, "job", prompt=None, prompt_file="p.md")
    assert "leads out of nightly/" in lines_of(home, "job")[0]


def test_a_guard_behind_a_link_outside_is_refused(home: Home) -> None:
    """A guarded path stays in the workspace through links too; a guarded link itself is fine."""
    workspace = home.root.parent / "workspace"
    workspace.mkdir()
    (workspace / "out").symlink_to(home.root.parent)
    write_job(home, "link", guard=["out"])
    write_job(home, "behind", guard=["out/x"])
    assert load_job(home, "link").guard == ("out",)
    assert "leads out of the workspace" in lines_of(home, "behind")[0]


def test_a_batch_job_is_read(home: Home) -> None:
    """A batch names its script and function, and has no prompt."""
    (home.nightly / "b.py").write_text("def go(): ...\n")
    write_job(home, "job", prompt=None, batch="b.py:go")
    job = load_job(home, "job")
    assert (job.batch, job.prompt) == ("b.py:go", None)


def test_the_workspace_is_known_by_one_name(home: Home) -> None:
    """A workspace behind a link is the folder itself, so that two jobs cannot share it unseen."""
    write_job(home, "plain")
    link = home.root.parent / "link"
    link.symlink_to(home.root.parent / "workspace")
    write_job(home, "linked", workspace=str(link))
    assert load_job(home, "linked").workspace == load_job(home, "plain").workspace


@pytest.mark.parametrize("name", ["missing", "../x", "a/b", "", "A"])
def test_an_unknown_job_is_named(home: Home, name: str) -> None:
    """A name that is no job says so, and never leads out of nightly/."""
    with pytest.raises(UnknownName, match="no job"):
        load_job(home, name)


def test_an_unknown_job_brings_the_nearest_name(home: Home) -> None:
    """A slip of the finger is answered with the job that was meant."""
    write_job(home, "summary")
    with pytest.raises(UnknownName) as caught:
        load_job(home, "sumary")
    assert caught.value.hint == "did you mean summary?"


def test_the_digest_covers_all_that_decides_a_job(home: Home) -> None:
    """File, prompt, script, settings and rules each change it; nothing else does."""
    (home.nightly / "p.md").write_text("one")
    (home.nightly / "b.py").write_text("one")
    write_job(home, "job", prompt=None, prompt_file="p.md")
    write_job(home, "batch", prompt=None, batch="b.py:f")

    def digests() -> tuple[str, str]:
        return load_job(home, "job").digest, load_job(home, "batch").digest

    seen = [digests()]
    assert digests() == seen[0]
    write_job(home, "another")
    assert digests() == seen[0]
    changes = (
        lambda: (home.nightly / "p.md").write_text("two"),
        lambda: (home.nightly / "b.py").write_text("two"),
        lambda: write_job(home, "job", prompt=None, prompt_file="p.md", timeout="1m"),
        lambda: write_job(home, "batch", prompt=None, batch="b.py:f", timeout="1m"),
        lambda: home.settings_file.write_text('[agy]\nisolate = "off"\n'),
        lambda: home.settings_file.write_text('[agy]\nisolate = "off"\npath = "/x"\n'),
        lambda: (home.rules / "gate.toml").write_text(""),
        lambda: (home.rules / "more.toml").write_text(""),
    )
    for change in changes:
        change()
        seen.append(digests())
    assert len(set(seen)) == len(changes) + 1
    assert len({job for job, _ in seen}) == len(changes) - 1
    assert len({batch for _, batch in seen}) == len(changes) - 1


def test_a_job_is_read_with_its_text(home: Home) -> None:
    """The text that was judged is the text that can be kept."""
    path = write_job(home, "job")
    assert read_job(home, "job").text == path.read_text()


def test_rules_that_cannot_be_read_stop_every_job(home: Home) -> None:
    """Without the rules no digest can be computed, so no job can be used."""
    write_job(home, "job")
    (home.rules / "x.toml").mkdir()
    with pytest.raises(ConfigurationProblem, match="expected a regular file"):
        load_jobs(home)
    general, jobs = check_jobs(home)
    assert "expected a regular file" in str(general)
    assert [job.name for job in jobs] == ["job"]


def test_limits_are_the_shipped_ones_by_default(home: Home) -> None:
    """A new home's gate has the shipped limits, and so has a home without the file."""
    assert load_gate_limits(home) == GateLimits()
    (home.rules / "gate.toml").unlink()
    assert load_gate_limits(home) == GateLimits()


def test_limits_can_be_changed(home: Home) -> None:
    """Sizes may be texts or numbers; what is left out keeps its default."""
    (home.rules / "gate.toml").write_text(
        '[limits]\nvalue_bytes = "64KiB"\nproposals_per_run = 3\n'
    )
    assert load_gate_limits(home) == GateLimits(value_bytes=64 << 10, proposals_per_run=3)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "value_bytes = 1048577",
            "limits.value_bytes: expected a size or number from 1 to 1048576",
        ),
        ("reason_bytes = 0", "limits.reason_bytes: expected a size or number from 1"),
        ('reason_bytes = "many"', 'got "many"'),
        ("reason_bytes = 1.5", 'expected a whole number or a size such as "16MiB", got the number'),
        ('proposals_per_run = "3"', "limits.proposals_per_run: expected a whole number"),
        ("proposal_per_run = 3", 'did you mean "proposals_per_run"?'),
    ],
)
def test_mistakes_of_the_limits_are_told(home: Home, text: str, told: str) -> None:
    """Limits that are none, too wide or unknown are refused."""
    (home.rules / "gate.toml").write_text(f"[limits]\n{text}\n")
    with pytest.raises(ConfigurationProblem) as caught:
        load_gate_limits(home)
    assert told in str(caught.value)


def test_workspaces_are_read_leniently(home: Home) -> None:
    """Every workspace that can be read counts, whatever else is wrong with its job."""
    write_job(home, "a", timeout="x", workspace="/somewhere")
    write_job(home, "b", workspace="~nobody-here/x")
    write_job(home, "c", workspace=3)
    (home.nightly / "d.toml").write_text("= broken")
    assert workspaces_of(home) == [Path("/somewhere")]


def test_a_home_without_a_folder_for_jobs_has_none(home: Home) -> None:
    """A missing nightly/ is an empty one."""
    home.nightly.rmdir()
    assert load_jobs(home) == []


def test_a_folder_that_cannot_be_read_is_never_empty(home: Home) -> None:
    """What is no folder stops everything instead of standing for no jobs or no rules."""
    home.nightly.rmdir()
    home.nightly.write_text("")
    with pytest.raises(ConfigurationProblem, match="nightly: cannot be read: not a directory"):
        load_jobs(home)


def test_the_number_of_jobs_is_bounded(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with too many files is refused before they are read."""
    monkeypatch.setattr(configuration, "_JOBS_LIMIT", 1)
    write_job(home, "a")
    write_job(home, "b")
    with pytest.raises(ConfigurationProblem, match="expected at most 1 jobs"):
        load_jobs(home)


VALUES = st.recursive(
    st.text() | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
KEYS = st.sampled_from(JobFile.__struct_fields__)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(KEYS | st.from_regex(r"[a-z_]{1,12}", fullmatch=True), VALUES, max_size=6))
def test_no_job_file_makes_the_reader_fail(home: Home, keys: dict[str, object]) -> None:
    """Whatever stands in a file, it is a job or a list of mistakes, a line each."""
    text = "".join(f"{key} = {toml_value(value)}\n" for key, value in keys.items())
    (home.nightly / "job.toml").write_text(text, encoding="utf-8")
    (found,) = load_jobs(home)
    if isinstance(found, JobProblem):
        assert found.problems
        assert all("\n" not in problem.line for problem in found.problems)
