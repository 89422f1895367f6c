"""The words of targets and the shapes of patterns."""

from __future__ import annotations

import pytest

from harness.core.permissions.patterns import Shape, chains, shapes_of, word_choices
from harness.core.permissions.patternsyntax import UntranslatableError
from harness.core.permissions.programs import AnyWord
from harness.core.permissions.regexes import Fate, compile_pattern
from harness.core.permissions.shellwords import strip_wrappers, target_words, unquote


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("git log 'a b' \"c $(d) `e`\" f\\ g", ("git", "log", "a b", "c $(d) $(e)", "f g")),
        ('a "x\\"y\\z"', ("a", 'x"y\\z')),
        ("a $'b' $\"c\"", ("a", "b", "c")),
        ("a ${b} $(c (d)) <(e) ?(f g)", ("a", "${b}", "$(c (d))", "<(e)", "?(f g)")),
        ("a `b c`", ("a", "$(b c)")),
        ("git status # note", ("git", "status")),
        ("A=1 B+=2 C[1]=3 git", ("git",)),
        ("A=1; git log", ("git", "log")),
        ("! git", ("git",)),
        ("(git)", ("git",)),
        ("( (git) )\n", ("git",)),
        ("git > x 2>&1", ("git", "2")),
        ("git &> x", ("git",)),
        ("git &", ("git",)),
        ("\n\ngit\n", ("git",)),
        ("> x", ()),
        ("", ()),
        ("( )", ()),
        ("declare -x A", ()),
        ("git; ls", None),
        ("git && \n ls", None),
        ("(git; ls)", None),
        ("git | ls", None),
        ("[^;]*", None),
        ("[^;&|]*", ("[^;&|]*",)),
        ("git status|", ("git", "status|")),
        ("git (a|b)", ("git", "(a|b)")),
        ("(git) x", ("(git)", "x")),
        ("git )", ("git", ")")),
        ("(git", ("(git",)),
        ("(git && )", ("(git", "&&", ")")),
        ("git >", ("git", ">")),
        ("git > > x", ("git", ">", ">", "x")),
        (";git", (";git",)),
        ("if x", ("if", "x")),
        ("a 'b", ("a", "'b")),
        ('a "b', ("a", '"b')),
        ("a $(b", ("a", "$(b")),
        ("a `b", ("a", "`b")),
        ("(" * 60 + "a" + ")" * 60, ("(" * 60 + "a" + ")" * 60,)),
    ],
)
def test_target_words(target: str, expected: tuple[str, ...] | None) -> None:
    """One command gives its words, several give none, broken syntax is split at blanks."""
    assert target_words(target) == expected


def test_wrappers() -> None:
    """Wrappers go with their options; `env -S` stays, for its command stands inside."""
    assert strip_wrappers(["timeout", "--signal=9", "-k", "1", "5", "nice", "-10", "git"]) == [
        "git"
    ]
    assert strip_wrappers(["env", "A=1", "-u", "B", "-", "git", "log"]) == ["git", "log"]
    assert strip_wrappers(["env", "-S", "a b"]) == ["env", "-S", "a b"]
    assert strip_wrappers(["timeout"]) == []
    assert unquote("'a") == "'a"


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("git (a|b)", {Shape(("git", "a")), Shape(("git", "b"))}),
        ("git( x)?", {Shape(("git",)), Shape(("git", "x"))}),
        ("ab{0}c{2}", {Shape(("acc",))}),
        ("(ab){2}", {Shape(("abab",))}),
        ("a{x}", {Shape(("a{x}",))}),
        (r"a\.b\tc", {Shape(("a.b", "c"))}),
        (r"\Qa.b\E x", {Shape(("a.b", "x"))}),
        ("(?i)GIT", {Shape(("git",))}),
        ("(?i:A)B", {Shape(("aB",))}),
        ("(?P<n>a)(?<m>b)", {Shape(("ab",))}),
        (r"a\s+b", {Shape(("a", "b"))}),
        ("a[ ]b", {Shape(("a", "b"))}),
        ("a .*", {Shape(("a",)), Shape(("a",), more=True)}),
        ("a x.*", {Shape(("a", "x")), Shape(("a", AnyWord(dash=False)), more=True)}),
        (
            "a( b)*",
            {Shape(("a",)), Shape(("a", "b")), Shape(("a", AnyWord(dash=False)), more=True)},
        ),
        ("a [b-z]+", {Shape(("a", AnyWord(dash=False, anywhere=False)))}),
        ("a b[0-9]", {Shape(("a", AnyWord(dash=False, anywhere=False, many=False)))}),
        ("a /b[0-9]+", {Shape(("a", AnyWord(dash=False)))}),
        ("a [-/.a-z]+", {Shape(("a", AnyWord()))}),
        ("a)|(b", {Shape(("a",)), Shape(("b",))}),
        ("[ab]c", {Shape(("ac",)), Shape(("bc",))}),
        ("", {Shape(())}),
        ("x{1,70}", {Shape(("x",)), Shape((AnyWord(dash=False),), more=True)}),
        ("(abcdefg){50}", {Shape((AnyWord(dash=False),), more=True)}),
    ],
)
def test_shapes(pattern: str, expected: set[Shape]) -> None:
    """A pattern stands for a few shapes of words, open where it cannot be followed."""
    assert set(shapes_of(pattern)) == expected


def test_a_word_may_hold_blanks() -> None:
    """In a single word of a command a set that holds a blank is no border."""
    assert word_choices("a|b.") == ("a", AnyWord(dash=False, anywhere=False, many=False))


@pytest.mark.parametrize("pattern", ["a.b", "[^a]", r"\s", r"\W", "a;", r"\x3b", r"\|", "(?s)a.",
                                     r"[\pS]", r"\pS", "(a$)|&"])  # fmt: skip
def test_chains(pattern: str) -> None:
    """Every atom counts that can be a sign of the shell."""
    assert chains(pattern)


@pytest.mark.parametrize("pattern", ["^a$", "[a-z]+", r"\d\w", "(a|b)*", "a{2,3}", r"\ba\B", "a-"])
def test_no_chains(pattern: str) -> None:
    """Anchors, groups and counts are no signs."""
    assert not chains(pattern)


@pytest.mark.parametrize("pattern", ["(" * 70 + ")" * 70, "[a", "(a", "a\\", r"\Qa b"])
def test_untranslatable(pattern: str) -> None:
    """What is too deep or no pattern at all is said to be so."""
    with pytest.raises(UntranslatableError):
        shapes_of(pattern)


@pytest.mark.parametrize("pattern", ["(?=a)", r"\Z", "a++", r"\1", "a{1001}", "(", "(a{99}){99}"])
def test_what_never_compiles_is_inert(pattern: str) -> None:
    """The engine refuses it, too."""
    assert compile_pattern(pattern).fate is Fate.INERT
    assert compile_pattern(pattern).matches("a") is False


@pytest.mark.parametrize("pattern", [r"\z", r"\Qa.b\E", r"\pL", "[[:alpha:]]", "(?P<n>a)"])
def test_what_only_this_dialect_has(pattern: str) -> None:
    """Signs that Python's own expressions lack are understood."""
    assert compile_pattern(pattern).fate is Fate.COMPILED


def test_what_is_too_large_is_unknown() -> None:
    """Size alone makes no rule inert."""
    for pattern in (".{1000}" * 60, "a" * 2001, r"\pL{900}" * 3):
        assert compile_pattern(pattern).fate is Fate.UNKNOWN
        assert compile_pattern(pattern).matches("a") is None


def test_a_pattern_that_leaves_its_anchors_has_no_bounds() -> None:
    """`a)|(b` matches a text that only ends in b."""
    pattern = compile_pattern("a)|(b")
    assert pattern.matches("xb")
    assert pattern.may_match(b"xb")
    assert not compile_pattern("git .*").may_match(b"ls")
