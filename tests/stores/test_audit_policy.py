"""`rules/audit.toml`: the policy as a person writes it."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from harness.core.audit.policy import SHIPPED, Action
from harness.core.permissions import Level
from harness.errors import ConfigurationProblem
from harness.stores.audit_policy import load_audit_policy, read_policy
from harness.stores.shipped import shipped_folder
from tests.helpers.homes import new_home


def policy_file(folder: Path, text: str) -> Path:
    """Write a policy."""
    path = folder / "audit.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_shipped_policy_is_the_default(tmp_path: Path) -> None:
    """Without a home, in a new home and in one without the file, the shipped values hold."""
    home = new_home(tmp_path / "home")
    assert (home.rules / "audit.toml").exists()
    for policy in (load_audit_policy(None), load_audit_policy(home)):
        assert policy.actions == SHIPPED
        assert (policy.trees, policy.accepted) == ((), ())
    (home.rules / "audit.toml").unlink()
    assert load_audit_policy(home).source.file == str(shipped_folder("rules") / "audit.toml")
    assert read_policy(policy_file(tmp_path, "")).actions == SHIPPED


def test_a_policy_says_levels_trees_and_acceptances(tmp_path: Path, own_environment: Path) -> None:
    """Each key has its meaning; an acceptance knows where it stands."""
    text = """
[levels]
medium = "refuse-unless-accepted"

[protected]
trees = ["/srv/data", "~/vault"]

[[accepted]]
rule = "command(pytest)"
reason = "the tests are the job"
owner = "ada"
until = 2027-01-31

[[accepted]]
rule = "ENV_PREFIX"
reason = "no isolation here"
owner = "ada"
until = 2027-02-28
"""
    policy = read_policy(policy_file(tmp_path, text))
    assert policy.actions == {**SHIPPED, Level.MEDIUM: Action.UNLESS_ACCEPTED}
    assert policy.trees == ("/srv/data", f"{own_environment}/vault")
    first, second = policy.accepted
    assert (first.rule, first.owner, first.until) == ("command(pytest)", "ada", date(2027, 1, 31))
    assert (first.source.pointer, first.source.line) == ("/accepted/0", 8)
    assert (second.source.pointer, second.source.line) == ("/accepted/1", 14)


def test_acceptances_in_a_line_have_no_line_of_their_own(tmp_path: Path) -> None:
    """TOML has other ways to write a list of tables."""
    text = 'accepted = [{rule = "a", reason = "b", owner = "c", until = 2027-01-31}]'
    (acceptance,) = read_policy(policy_file(tmp_path, text)).accepted
    assert acceptance.source.line is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[levels]\nhigh = "ignore"', "levels.high: expected one of"),
        ("[levels]\nhihg = 1", 'did you mean "high"?'),
        ('[protected]\ntrees = ["data"]', "protected.trees: expected absolute paths"),
        ('[protected]\ntrees = ["~nobody-of-this-name/x"]', "protected.trees: expected"),
        ("[protectd]", "protectd"),
        ("accepted = 1", "accepted: expected tables"),
        ("accepted = [1]", "accepted[0]: expected a table"),
        ("[[accepted]]\nrule = 1", "accepted[0].rule: expected"),
        (
            '[[accepted]]\nrule = "a"\nreason = "b"\nuntil = 2027-01-31',
            "accepted[0].owner: missing",
        ),
        (
            '[[accepted]]\nrule = "a"\nreason = " "\nowner = "c"\nuntil = 2027-01-31',
            "accepted[0].reason: missing",
        ),
        (
            '[[accepted]]\nrule = "a"\nreason = "b"\nowner = "c"',
            "accepted[0].until: expected a date",
        ),
        (
            '[[accepted]]\nrule = "a"\nreason = "b"\nowner = "c"\nuntil = "soon"',
            "accepted[0].until: expected a date",
        ),
        (
            '[[accepted]]\nrule="a"\nreason="b"\nowner="c"\nuntil = 2027-01-31T00:00:00Z',
            "accepted[0].until: expected a date",
        ),
        (
            '[[accepted]]\nrule="a"\nreason="b"\nowner="c"\nuntil=2027-01-31\nevil="x"',
            "accepted[0].evil: unknown key",
        ),
        ("[levels", "not valid TOML"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    """File, key, what was expected; a wrong policy is never half a policy."""
    with pytest.raises(ConfigurationProblem) as caught:
        read_policy(policy_file(tmp_path, text))
    assert said in str(caught.value)
    assert "audit.toml" in str(caught.value)


def test_all_mistakes_are_found_at_once(tmp_path: Path) -> None:
    """A person mends a file once."""
    text = '[levels]\nhigh = "x"\nlow = "y"\n[[accepted]]\nrule = "a"'
    with pytest.raises(ConfigurationProblem) as caught:
        read_policy(policy_file(tmp_path, text))
    assert len(str(caught.value).splitlines()) == 5
