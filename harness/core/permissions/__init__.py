"""How the CLI's permission rules really match, and how broad each of them is.

`covers` says whether one command rule lets a line pass, `decide` what the CLI does with a request
under whole lists, `judge` how much one rule gives away. All three are pure, never raise on any
text, and never call a rule safer than it is.
"""

from __future__ import annotations

from harness.core.permissions.decisions import decide
from harness.core.permissions.judging import judge
from harness.core.permissions.levels import Decision, Judgement, Level, Trait
from harness.core.permissions.matching import covers

__all__ = ["Decision", "Judgement", "Level", "Trait", "covers", "decide", "judge"]
