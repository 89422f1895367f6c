import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.agy_errors import parse_agy_error, resets_in_s
from harness.core.model import AgyError, ErrorKind

QUOTA = (
    'AGY_ERROR: {"short_error":"RESOURCE_EXHAUSTED (code 429): Individual quota reached. Please '
    'upgrade your subscription to increase your limits. Resets in 148h43m22s.","status":'
    '"RESOURCE_EXHAUSTED","error_code":429,"code_kind":"http","retryable":true,"error_id":'
    '"0b1f77-1"}'
)
API_KEY = (
    'AGY_ERROR: {"short_error":"agent executor error: generating and executing: Error 400, Message:'
    " API key not valid. Please pass a valid API key., Status: INVALID_ARGUMENT, Details: [map["
    "@type:type.googleapis.com/google.rpc.ErrorInfo domain:googleapis.com reason:API_KEY_INVALID]]"
    '","status":"INVALID_ARGUMENT","error_code":400,"code_kind":"http","retryable":false,'
    '"error_id":"9c2e01-1"}'
)
RETRY_DELAY = (
    'AGY_ERROR: {"short_error":"agent executor error: generating and executing: Error 429, Message:'
    " You exceeded your current quota, Status: RESOURCE_EXHAUSTED, Details: [map[@type:x.RetryInfo "
    'retryDelay:40s]]","status":"RESOURCE_EXHAUSTED","error_code":429,"code_kind":"http",'
    '"retryable":true}'
)
CLOSED = (
    'AGY_ERROR: {"short_error":"API error (attempt 8): request failed: Post '
    '\\"https://x:streamGenerateContent?alt=sse\\": write tcp [::1]: An existing connection was '
    'forcibly closed by the remote host.","retryable":false,"error_id":"77aa00-17"}'
)
NO_ROUTE = (
    'AGY_ERROR: {"short_error":"dial tcp: read: no route to host","status":"UNKNOWN",'
    '"error_code":2,"code_kind":"grpc","retryable":true}'
)
REGISTRY = (
    'AGY_ERROR: {"short_error":"x \\u003e unknown component: tool \\"deploy_site\\" not found in '
    'registry","status":"UNKNOWN","error_code":2,"code_kind":"grpc","retryable":false}'
)


def parsed(line: str | bytes) -> AgyError:
    """Return what a line says, which must be an AGY_ERROR line."""
    error = parse_agy_error(line)
    assert error is not None
    return error


def test_every_key_is_read() -> None:
    """A line of the richest shape gives each of its values, and itself as raw text."""
    assert parsed(QUOTA + "\n") == AgyError(
        short_error=(
            "RESOURCE_EXHAUSTED (code 429): Individual quota reached. Please upgrade your "
            "subscription to increase your limits. Resets in 148h43m22s."
        ),
        status="RESOURCE_EXHAUSTED",
        error_code=429,
        code_kind="http",
        retryable=True,
        error_id="0b1f77-1",
        kind=ErrorKind.QUOTA,
        resets_in_s=148 * 3600 + 43 * 60 + 22,
        raw=QUOTA,
    )


@pytest.mark.parametrize(
    ("line", "kind", "resets"),
    [
        (QUOTA, ErrorKind.QUOTA, 535402.0),
        (API_KEY, ErrorKind.AUTH, None),
        (RETRY_DELAY, ErrorKind.QUOTA, 40.0),
        (CLOSED, ErrorKind.TRANSIENT, None),
        (NO_ROUTE, ErrorKind.TRANSIENT, None),
        (REGISTRY, ErrorKind.CONFIG, None),
    ],
    ids=["quota", "api_key", "retry_delay", "closed", "no_route", "registry"],
)
def test_the_shapes_seen(line: str, kind: ErrorKind, resets: float | None) -> None:
    """Every shape that was reported is understood."""
    error = parsed(line)
    assert (error.kind, error.resets_in_s) == (kind, resets)
    assert error.raw == line


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Individual quota reached", ErrorKind.QUOTA),
        ("AI credits balance is too low", ErrorKind.QUOTA),
        ("prepayment credits are depleted", ErrorKind.QUOTA),
        ("spend cap breached", ErrorKind.QUOTA),
        ("Authentication expired. Please log back in.", ErrorKind.AUTH),
        ("reason:API_KEY_INVALID", ErrorKind.AUTH),
        ("Eligibility check failed", ErrorKind.AUTH),
        ("experiencing high traffic", ErrorKind.TRANSIENT),
        ("model API is currently\n  overloaded", ErrorKind.TRANSIENT),
        ("No capacity available for model x", ErrorKind.TRANSIENT),
        ("MODEL_CAPACITY_EXHAUSTED", ErrorKind.TRANSIENT),
        ("network issue connecting to the server", ErrorKind.TRANSIENT),
        ("no route to host", ErrorKind.TRANSIENT),
        ("agent: failure; empty response", ErrorKind.TRANSIENT),
        ("blocked by content safety filters", ErrorKind.CONTENT_FILTER),
        ("tool not found in registry", ErrorKind.CONFIG),
        ("Error 503, Message: x", ErrorKind.TRANSIENT),
        ("RESOURCE_EXHAUSTED (code 429): x", ErrorKind.QUOTA),
        ("something else", ErrorKind.OTHER),
        ("", ErrorKind.OTHER),
    ],
)
def test_the_words_tell_the_kind(text: str, kind: ErrorKind) -> None:
    """Without any code, the text alone decides."""
    quoted = text.replace("\n", "\\n")
    assert parsed(f'AGY_ERROR: {{"short_error":"{quoted}","retryable":true}}').kind is kind


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ('"error_code":402', ErrorKind.QUOTA),
        ('"error_code":429,"status":"UNAVAILABLE"', ErrorKind.QUOTA),
        ('"error_code":503', ErrorKind.TRANSIENT),
        ('"error_code":400', ErrorKind.INVALID_ARGUMENT),
        ('"error_code":"429"', ErrorKind.QUOTA),
        ('"error_code":429,"code_kind":"grpc"', ErrorKind.OTHER),
        ('"status":"RESOURCE_EXHAUSTED"', ErrorKind.QUOTA),
        ('"status":"UNAVAILABLE","error_code":14,"code_kind":"grpc"', ErrorKind.TRANSIENT),
        ('"status":"INVALID_ARGUMENT"', ErrorKind.INVALID_ARGUMENT),
        ('"status":"UNAUTHENTICATED"', ErrorKind.AUTH),
        ('"status":"UNKNOWN","error_code":2,"code_kind":"grpc"', ErrorKind.OTHER),
        ('"error_code":429,"short_error":"model is overloaded"', ErrorKind.TRANSIENT),
        ('"status":["x"],"error_code":{},"retryable":"yes","error_id":7', ErrorKind.OTHER),
    ],
)
def test_code_and_status_decide_where_the_text_does_not(fields: str, kind: ErrorKind) -> None:
    """First the text, then the code, then the status."""
    assert parsed(f"AGY_ERROR: {{{fields}}}").kind is kind


@pytest.mark.parametrize(
    "line",
    [
        QUOTA[:90],
        "AGY_ERROR: ",
        "AGY_ERROR:",
        "AGY_ERROR: quota reached",
        "AGY_ERROR: [1]",
        'AGY_ERROR: "quota reached"',
        "AGY_ERROR: {quota reached}",
        "AGY_ERROR: {}",
    ],
)
def test_what_cannot_be_parsed_is_an_error_all_the_same(line: str) -> None:
    """A cut or foreign line is kept as raw text, of kind other."""
    error = parsed(line)
    assert error == AgyError(raw=line)
    assert error.kind is ErrorKind.OTHER


def test_tails_line_ends_and_foreign_bytes_do_no_harm() -> None:
    """CRLF, text behind the object, extra keys and bytes that are no UTF-8 are tolerated."""
    line = b'AGY_ERROR: {"new":{"a":[1]},"short_error":"quota reached \xff\xfe"} trailing {"x"\r\n'
    error = parsed(line)
    assert error.kind is ErrorKind.QUOTA
    assert error.short_error == "quota reached \ufffd\ufffd"
    assert error.raw.endswith('trailing {"x"')


@pytest.mark.parametrize(
    "line", ["", "error: x", " " + QUOTA, "said " + QUOTA, "AGY_ERROR", "agy_error: {}"]
)
def test_elsewhere_in_a_line_it_is_a_quotation(line: str) -> None:
    """Without the marker at the very start, a line is no AGY_ERROR line."""
    assert parse_agy_error(line) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Resets in 148h43m22s.", 535402.0),
        ("resets in 44m20s", 2660.0),
        ("Resets in 0s", 0.0),
        ("Resets in 1H2M", 3720.0),
        ("retryDelay:40s]]", 40.0),
        ('retryDelay: "1.5s"', 1.5),
        ("retryDelay:250ms", 0.25),
        ("Resets in a while", None),
        ("Resets in 40", None),
        ("", None),
    ],
)
def test_reset_hints_are_durations(text: str, seconds: float | None) -> None:
    """A Go duration behind one of the two phrases is a number of seconds."""
    assert resets_in_s(text) == seconds


@given(st.one_of(st.binary(max_size=200), st.text(max_size=200)))
def test_no_line_raises(tail: bytes | str) -> None:
    """Whatever follows the marker, the answer is an error with a bounded raw text."""
    line = b"AGY_ERROR: " + tail if isinstance(tail, bytes) else "AGY_ERROR: " + tail
    error = parsed(line)
    assert len(error.raw.encode()) <= 4096
    assert parse_agy_error(tail) is None or error.raw


@given(st.text(max_size=40), st.integers(min_value=0, max_value=400))
def test_every_cut_of_a_line_is_an_error(text: str, cut: int) -> None:
    """A line that ends anywhere behind its marker is still an error."""
    line = (QUOTA + text)[: len("AGY_ERROR:") + cut]
    assert parsed(line).kind in (ErrorKind.QUOTA, ErrorKind.OTHER)


def test_texts_are_bounded() -> None:
    """A line of a megabyte keeps 4 KiB of each text."""
    error = parsed(
        'AGY_ERROR: {"short_error":"' + "é" * 500_000 + '","status":"' + "x" * 999 + '"}'
    )
    assert len(error.short_error.encode()) <= 4096
    assert len(error.raw.encode()) <= 4096
    assert error.status == "x" * 200
