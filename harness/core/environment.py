"""The environment of the CLI: an allow-list, so that nothing of the parent leaks by accident."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

#: Passed on where the parent has them, `LC_*` beside them.
BASE_NAMES = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    "NODE_EXTRA_CA_CERTS",
)
_LOCALE_PREFIX = "LC_"

#: Begins every variable by which the CLI marks its own tools.
CLI_PREFIX = "ANTIGRAVITY_"
#: Never passed on, not even by name: the CLI's own session, a way out of it, and our own words.
_FORBIDDEN_PREFIXES = (CLI_PREFIX, "DBUS_", "HARNESS_")

RUN_ID = "HARNESS_RUN_ID"
JOB = "HARNESS_JOB"
GATE = "HARNESS_GATE"
NO_AUTO_UPDATE = "AGY_CLI_DISABLE_AUTO_UPDATE"


def forbidden(name: str) -> bool:
    """Return whether a variable of this name is never passed on."""
    return name.upper().startswith(_FORBIDDEN_PREFIXES)


def environment(
    parent: Mapping[str, str],
    *,
    names: Sequence[str],
    run_id: str,
    job: str,
    gate: str | None,
) -> dict[str, str]:
    """Return the whole environment of the CLI's process.

    Args:
        parent: the environment of the harness.
        names: what the job asks for beside the base set; forbidden names are passed over.
        run_id: marks the process and all of its descendants; "" outside a run.
        job: the job's name; "" outside a run.
        gate: path of the run's socket; "" or None where there is no door.
    """
    wanted = {*BASE_NAMES, *names, *(name for name in parent if name.startswith(_LOCALE_PREFIX))}
    chosen = {
        name: parent[name] for name in sorted(wanted) if name in parent and not forbidden(name)
    }
    # Only the literal `true` works; anything else lets a start replace the binary in place.
    chosen[NO_AUTO_UPDATE] = "true"
    marks = {RUN_ID: run_id, JOB: job, GATE: gate}
    return chosen | {name: value for name, value in marks.items() if value}
