"""How broad `read_url`, `execute_url` and `mcp` targets are."""

from __future__ import annotations

import re
from collections.abc import Iterable

from harness.core.permissions.grammar import EVERYTHING
from harness.core.permissions.hosts import host_of, host_works
from harness.core.permissions.levels import Finding, Level, Trait


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SEND = frozenset({Trait.EGRESS})
_PUBLIC = re.compile(
    r"(com?|net|org|gov|edu|ac|or|ne|go|gob|gouv|info|mil|sch|ltd|plc|me|nom|web|asn|id)\.[a-z]{2}"
)
_ANYBODYS = _names(
    "github.io gitlab.io pages.dev workers.dev vercel.app netlify.app herokuapp.com web.app "
    "firebaseapp.com appspot.com run.app onrender.com fly.dev glitch.me repl.co replit.app "
    "ngrok.io ngrok.app ngrok-free.app trycloudflare.com loca.lt amazonaws.com cloudfront.net "
    "azurewebsites.net windows.net cloudapp.net surge.sh blogspot.com wordpress.com webhook.site "
    "requestbin.com pipedream.net beeceptor.com duckdns.org nip.io sslip.io r2.dev deno.dev "
    "railway.app supabase.co oast.fun interact.sh burpcollaborator.net"
)
"""Domains under which anybody gets a host."""
_SHARED = _names(
    "github.com githubusercontent.com gitlab.com bitbucket.org google.com googleapis.com "
    "microsoft.com live.com dropbox.com notion.so slack.com discord.com telegram.org t.me "
    "pastebin.com huggingface.co npmjs.org npmjs.com pypi.org reddit.com medium.com "
    "wikipedia.org youtube.com x.com twitter.com facebook.com cloudflare.com sharepoint.com "
    "atlassian.net stackoverflow.com codeberg.org sourceforge.net"
)
"""Hosts that show what anybody wrote."""
_METADATA = r"169\.254\..*|metadata\.google\.internal|internal|\[fd00:ec2::254\]"
_LOCAL = (
    r"localhost|.*\.(localhost|local|internal|lan|home|intranet)|0\.0\.0\.0|127\..*|10\..*"
    r"|192\.168\..*|172\.(1[6-9]|2\d|3[01])\..*|\[::1?\]|\[f[cd].*\]|\[fe80.*\]|\[::ffff:.*\]"
)
_ADDRESS = r"[\d.]+|\[.*\]"
_HOSTS = (
    (_METADATA, Level.HIGH, "the host hands out credentials of the machine"),
    (_LOCAL, Level.MEDIUM, "it reaches services of the machine or its network"),
    (_ADDRESS, Level.LOW, "it is one address"),
    (r"[^.]+", Level.HIGH, "hosts match by their last labels, so it covers a whole top domain"),
    (_PUBLIC.pattern, Level.HIGH, "hosts match by their last labels, so it covers a public suffix"),
)
"""What a host looks like → how broad it is; the first that fits."""
_RUNS = re.compile(r"exec|eval|shell|command|bash|terminal|run_|spawn|script|sql|query|deploy")
_ALTERS = re.compile(
    r"delete|remove|drop|write|create|update|edit|merge|push|send|move|put|set_|add|close|publish"
)


def url_finding(target: str, *, browser: bool) -> Finding:
    """Return how broad a `read_url` target is, or with `browser` an `execute_url` one."""
    host = host_of(target).removesuffix(".")
    if target == EVERYTHING:
        level, why = Level.HIGH, "it reaches any host"
    elif not host:
        return Finding(level=Level.UNKNOWN, why="what an empty host covers is not known")
    elif not host_works(host):
        why = "patterns, upper case and leading dots match no host"
        return Finding(level=Level.INERT, why=why)
    else:
        level, why = _host_level(host)
    if browser:
        level = Level.CRITICAL if level is Level.HIGH else Level.HIGH
        why = f"the browser acts with the user's logins: {why}"
    return Finding(level=level, why=why, traits=_SEND if level >= Level.HIGH else frozenset())


def _host_level(host: str) -> tuple[Level, str]:
    for form, level, why in _HOSTS:
        if re.fullmatch(form, host):
            return level, why
    if _is_one_of(host, _ANYBODYS):
        return Level.HIGH, f"anybody gets a host under {host}"
    if _is_one_of(host, _SHARED):
        return Level.MEDIUM, f"the hosts under {host} show what anybody wrote"
    return Level.LOW, "scheme, port and path are dropped: it is the host and all under it"


def _is_one_of(host: str, known: Iterable[str]) -> bool:
    """Return whether a host is one that is known, or covers one."""
    return any(host == one or one.endswith(f".{host}") for one in known)


def mcp_finding(target: str, *, harness_intact: bool) -> Finding:
    """Return how broad an `mcp` target is.

    Args:
        target: what stands in the brackets.
        harness_intact: whether the server `harness` is the one that the harness installed.
    """
    server, _, tool = target.partition("/")
    if target == EVERYTHING:
        level, why = Level.CRITICAL, "it covers every tool of every server, also of later ones"
    elif not server or not tool or "*" in server or ("*" in tool and tool != EVERYTHING):
        level, why = Level.INERT, "only `server/tool`, `server/*` and `*` match a tool"
    elif server == "harness":
        level, why = Level.CRITICAL, "the server called harness is not known to be the harness"
        if harness_intact:
            level, why = Level.LOW, "the harness's own tools go through the gate"
    else:
        level, why = _tool_level(server, tool)
    return Finding(level=level, why=why)


def _tool_level(server: str, tool: str) -> tuple[Level, str]:
    if tool == EVERYTHING:
        return Level.HIGH, f"it covers every tool of `{server}`, those that write included"
    if _RUNS.search(tool.lower()):
        return Level.HIGH, f"`{tool}` runs what the agent gives it"
    if _ALTERS.search(tool.lower()):
        return Level.MEDIUM, f"`{tool}` changes something"
    return Level.LOW, "it is one tool, with arguments of the agent's choosing"
