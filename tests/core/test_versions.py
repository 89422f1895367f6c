import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from harness.core.versions import (
    FIRST_VERSION,
    MINIMUM,
    NEWEST_KNOWN,
    Feature,
    Features,
    parse_version,
)


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("1.2.10\n", "1.2.10"),
        (b"1.2.11\n", "1.2.11"),
        ("1.2.12\r\n", "1.2.12"),
        ("  1.3.3  ", "1.3.3"),
        ("v1.2.10", "1.2.10"),
        ("1.4.0", "1.4.0"),
        ("1.2.3-beta.1", "1.2.3b1"),
    ],
)
def test_a_version_number_is_parsed(text: str | bytes, parsed: str) -> None:
    """A lone version number is understood, whatever white space or prefix it has."""
    features = parse_version(text)
    assert features.parsed == Version(parsed)
    assert not features.unparsable


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "agy version 1.2.10",
        "1.2.10\nA new version is available",
        "1.0.0-nightly.20260101",
        "12",
        "1!1.2.10",
        b"\xff\xfe1.2",
        "1." * 100 + "1",
        "Error: authentication required.",
        "\u0661.\u0662.\u0663",
    ],
)
def test_anything_else_is_unparsable_and_has_nothing(text: str | bytes) -> None:
    """What is no version number knows no feature, soft denial included."""
    features = parse_version(text)
    assert features.unparsable
    assert not features.known
    assert not features.newer
    assert not any(features.has(feature) for feature in Feature)
    assert len(features.raw) <= 64


@pytest.mark.parametrize(
    ("version", "gained"),
    [
        ("1.1.1", {Feature.SERVER_ERRORS_SHOWN, Feature.STDIN_LEFT_ALONE}),
        ("1.1.3", {Feature.SOFT_DENIAL}),
        ("1.1.4", {Feature.HONOURS_SETTINGS}),
        ("1.1.8", {Feature.OUTPUT_FORMAT}),
        ("1.1.9", {Feature.DISABLE_SLASH_COMMANDS}),
        ("1.1.11", {Feature.PRINT_MODE_SLASH}),
        ("1.1.12", {Feature.MODE_HEADLESS}),
        ("1.1.13", {Feature.API_KEY}),
        ("1.1.15", {Feature.STREAM_INPUT}),
        ("1.1.18", {Feature.CLEAN_JSON, Feature.EMPTY_PROMPT_REFUSED}),
        ("1.1.20", {Feature.DENIALS_EXIT_ZERO}),
        ("1.1.27", {Feature.DENIED_ACTIONS}),
        ("1.1.28", {Feature.TIMEOUT_EXIT_ZERO}),
        ("1.2.6", {Feature.AGY_ERROR_LINE, Feature.UNLIMITED_PRINT_TIMEOUT}),
        ("1.2.9", {Feature.DAEMONS_END}),
        ("1.2.10", {Feature.PARTIAL_ERROR_EXIT_THREE}),
        ("1.2.13", {Feature.QUOTA_STOPS_AT_ONCE}),
    ],
)
def test_each_version_gains_its_features(version: str, gained: set[Feature]) -> None:
    """A feature is there from its first version on, and not one patch earlier."""
    release = Version(version).release
    before = parse_version(f"{release[0]}.{release[1]}.{release[2] - 1}")
    at = parse_version(version)
    assert {feature for feature in Feature if at.has(feature) and not before.has(feature)} == gained


def test_the_table_has_every_feature() -> None:
    """No feature stands without a first version, and none begins after the newest known."""
    assert set(FIRST_VERSION) == set(Feature)
    assert max(FIRST_VERSION.values()) <= NEWEST_KNOWN


def test_a_newer_version_counts_as_the_newest_and_is_named() -> None:
    """A version past the table has every feature and is not known."""
    newest, newer = parse_version("1.3.3"), parse_version("1.4.0")
    assert (newest.known, newest.newer) == (True, False)
    assert (newer.known, newer.newer) == (False, True)
    assert all(newer.has(feature) for feature in Feature)


@pytest.mark.parametrize(
    ("text", "too_old"),
    [("1.1.2", True), ("1.1.3", False), ("1.1.3-rc.1", True), ("0.9.9", True), ("1.2.10", False)],
)
def test_the_minimum_is_inclusive(text: str, *, too_old: bool) -> None:
    """The first version with soft denial is enough; a pre-release of it is not."""
    assert parse_version(text).has(Feature.SOFT_DENIAL) is not too_old
    assert Version("1.1.3") == MINIMUM


@given(st.one_of(st.text(max_size=80), st.binary(max_size=80)))
def test_no_text_raises(text: str | bytes) -> None:
    """Whatever a process prints, the answer is a value that contradicts nothing."""
    features = parse_version(text)
    assert isinstance(features, Features)
    assert features.known == (not features.unparsable and not features.newer)
