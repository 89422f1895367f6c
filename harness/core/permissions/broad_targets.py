"""How broad file, address and tool targets are."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.core.permissions.grammar import EVERYTHING
from harness.core.permissions.hosts import host_of, host_works
from harness.core.permissions.levels import Finding, Level, Trait
from harness.core.permissions.paths import (
    Parts,
    Place,
    below,
    clean_parts,
    is_pattern,
    is_windows,
    roots,
    shown,
)

_START_FILES = (
    ".bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zshenv .zprofile .zlogin "
    ".config .local .ssh .gitconfig .npmrc .cargo .vimrc .emacs .emacs.d .netrc .pam_environment "
    ".xprofile .xsessionrc .xinitrc .inputrc .tmux.conf .docker .kube .aws .gnupg .claude .codex "
    ".cursor .vscode Library bin .pypirc .condarc .gem .m2 .gradle .oh-my-zsh"
).split()
"""Names in a home that start programs, or hold what starts them."""
_SECRET_FILES = (
    ".ssh .aws .gnupg .netrc .config .kube .docker .gemini .npmrc .pypirc .local .mozilla "
    ".git-credentials .password-store .azure .terraform.d .claude .codex .cargo Library "
    ".bash_history .zsh_history"
).split()
_RUNNING = frozenset({".git", ".vscode", ".idea", ".husky", ".devcontainer", ".cursor", ".claude"})
_DATA = frozenset(
    {"reports", "report", "data", "out", "output", "outputs", "logs", "log", "results", "notes"}
    | {"artifacts", "artefacts", "journal", "drafts", "tmp", "temp", "cache", "exports", "inbox"}
)
_DOCUMENT = re.compile(r"[^/]+\.(md|txt|json|jsonl|csv|tsv|log|pdf|png|jpg|svg|ndjson)")
_CODE_DATA = frozenset(
    {"package.json", "tsconfig.json", "composer.json", "deno.json", "CMakeLists.txt"}
)
_DOTENV = re.compile(r"\.env.*|\.npmrc|\.pypirc|\.netrc")

_PUBLIC = re.compile(
    r"(com?|net|org|gov|edu|ac|or|ne|go|gob|gouv|info|mil|sch|ltd|plc|me|nom|web|asn|id)\.[a-z]{2}"
)
_ANYBODYS = frozenset(
    "github.io gitlab.io pages.dev workers.dev vercel.app netlify.app herokuapp.com web.app "
    "firebaseapp.com appspot.com run.app onrender.com fly.dev glitch.me repl.co replit.app "
    "ngrok.io ngrok.app ngrok-free.app trycloudflare.com loca.lt amazonaws.com cloudfront.net "
    "azurewebsites.net blob.core.windows.net cloudapp.net surge.sh blogspot.com wordpress.com "
    "webhook.site requestbin.com pipedream.net beeceptor.com duckdns.org nip.io sslip.io "
    "r2.dev deno.dev railway.app supabase.co oast.fun interact.sh burpcollaborator.net".split()
)
"""Domains under which anybody gets a host."""
_SHARED = frozenset(
    "github.com githubusercontent.com gitlab.com bitbucket.org google.com googleapis.com "
    "microsoft.com live.com dropbox.com notion.so slack.com discord.com telegram.org t.me "
    "pastebin.com gist.github.com huggingface.co npmjs.org npmjs.com pypi.org reddit.com "
    "medium.com wikipedia.org youtube.com x.com twitter.com facebook.com cloudflare.com "
    "sharepoint.com atlassian.net stackoverflow.com codeberg.org sourceforge.net".split()
)
"""Hosts that show what anybody wrote."""
_LOCAL = re.compile(
    r"localhost|.*\.(localhost|local|internal|lan|home|intranet)|0\.0\.0\.0|127\..*|10\..*"
    r"|192\.168\..*|172\.(1[6-9]|2\d|3[01])\..*|\[::1?\]|\[f[cd].*\]|\[fe80.*\]|\[::ffff:.*\]"
)
_METADATA = re.compile(r"169\.254\..*|metadata\.google\.internal|\[fd00:ec2::254\]|internal")
_RUNS = re.compile(r"exec|eval|shell|command|bash|terminal|run_|spawn|script|sql|query|deploy")
_ALTERS = re.compile(
    r"delete|remove|drop|write|create|update|edit|merge|push|send|move|put|set_|add"
)


def _finding(level: Level, why: str, *traits: Trait) -> Finding:
    return Finding(level=level, why=why, traits=frozenset(traits))


def _dead_path(target: str) -> Finding | None:
    if is_windows(target):
        return _finding(Level.UNKNOWN, "the path is one of another system")
    if target != EVERYTHING and is_pattern(target):
        return _finding(Level.INERT, "`~`, `$`, `*`, `?` and `regex:` are literal text in a path")
    return None


def write_finding(target: str, place: Place, protected: Sequence[str]) -> Finding:
    """Return how broad a `write_file` target is."""
    dead = _dead_path(target)
    if dead is not None:
        return dead
    covered = roots(target.strip(), place)
    if not covered:
        return _finding(Level.INERT, "a relative path cannot leave the workspace")
    vital = _vital(place, protected)
    for root in covered:
        for path, what in vital:
            if below(path, root) or below(root, path):
                return _finding(
                    Level.CRITICAL, f"it lets the agent write {what}", Trait.WORKSPACE_WRITE
                )
    return _write_place(covered[0], place)


def _vital(place: Place, protected: Sequence[str]) -> list[tuple[Parts, str]]:
    """Return the paths whose writing gives everything away, with their names."""
    home = shown(place.home)
    found = [(place.configuration, "the CLI's own configuration")]
    found += [
        ((*place.home, name), f"{home}/{name}, which starts programs") for name in _START_FILES
    ]
    for path in protected:
        whole = path if path.startswith("/") else f"{shown(place.workspace)}/{path}"
        whole = home + path[1:] if path.startswith("~/") else whole
        found.append((clean_parts(whole), f"{path}, which is protected"))
    return found


def _write_place(root: Parts, place: Place) -> Finding:
    write = Trait.WORKSPACE_WRITE
    if below(place.workspace, root):
        whole = root == place.workspace
        what = "the whole workspace" if whole else "the workspace and what lies beside it"
        return _finding(Level.HIGH, f"it covers {what}", write, Trait.GIT_CONFIGURATION)
    if not below(root, place.workspace):
        if root[:1] == ("tmp",):
            return _finding(Level.LOW, "/tmp is writable without a rule, too")
        return _finding(Level.HIGH, f"{shown(root)} lies outside the workspace")
    return _write_inside(root[len(place.workspace) :])


def _write_inside(inside: Parts) -> Finding:
    write, last = Trait.WORKSPACE_WRITE, inside[-1]
    if inside[0] == ".agents":
        return _finding(Level.CRITICAL, "hooks in .agents run at every tool call", write)
    if inside[0] in _RUNNING:
        why = f"{inside[0]} holds what later calls run"
        return _finding(Level.HIGH, why, write, Trait.GIT_CONFIGURATION)
    if _DOCUMENT.fullmatch(last) and last not in _CODE_DATA and not last.startswith("."):
        return _finding(Level.NARROW, "one document of the workspace")
    if inside[0] in _DATA:
        return _finding(Level.LOW, "a folder of the workspace for data")
    return _finding(Level.MEDIUM, "it writes in the workspace what may be code", write)


def read_finding(target: str, place: Place) -> Finding:
    """Return how broad a `read_file` target is."""
    dead = _dead_path(target)
    if dead is not None:
        return dead
    covered = roots(target.strip(), place)
    if not covered:
        return _finding(Level.INERT, "a relative path cannot leave the workspace")
    root = covered[0]
    secrets = [place.configuration, *((*place.home, name) for name in _SECRET_FILES)]
    if any(below(path, root) or below(root, path) for path in secrets):
        return _finding(Level.HIGH, "it reads keys and credentials", Trait.WIDE_READ)
    if root[:1] == ("proc",) or below(("proc",), root):
        return _finding(Level.HIGH, "it reads the environment of every process", Trait.WIDE_READ)
    if not below(root, place.workspace):
        if root[:1] == ("tmp",):
            return _finding(Level.LOW, "/tmp is readable without a rule, too")
        return _finding(Level.MEDIUM, f"it reads {shown(root)}, outside the workspace",
                        Trait.WIDE_READ)  # fmt: skip
    inside = root[len(place.workspace) :]
    if inside and _DOTENV.fullmatch(inside[-1]):
        return _finding(Level.MEDIUM, "it shows secrets of the workspace")
    if inside and "." in inside[-1].lstrip("."):
        return _finding(Level.NARROW, "one file of the workspace")
    return _finding(Level.LOW, "it reads in the workspace, .env included")


def url_finding(target: str, *, browser: bool) -> Finding:
    """Return how broad a `read_url` target is, or with `browser` an `execute_url` one."""
    everywhere = Level.CRITICAL if browser else Level.HIGH
    if target == EVERYTHING:
        why = "the user's browser acts on any site" if browser else "it reaches any host"
        return _finding(everywhere, why, Trait.EGRESS)
    host = host_of(target)
    if not host:
        return _finding(Level.UNKNOWN, "what an empty host covers is not known")
    if not host_works(host):
        return _finding(Level.INERT, "patterns, upper case and leading dots match no host")
    level, why = _host_level(host.removesuffix("."))
    if browser:
        level = everywhere if level is Level.HIGH else Level.HIGH
        why = f"the browser acts with the user's logins; {why}"
    traits = [Trait.EGRESS] if level >= Level.HIGH else []
    return _finding(level, why, *traits)


def _host_level(host: str) -> tuple[Level, str]:
    if _METADATA.fullmatch(host):
        return Level.HIGH, "the host hands out credentials of the machine"
    if _LOCAL.fullmatch(host):
        return Level.MEDIUM, "it reaches services of the machine or its network"
    if re.fullmatch(r"[\d.]+|\[.*\]", host):
        return Level.LOW, "one address"
    if "." not in host or _PUBLIC.fullmatch(host):
        return Level.HIGH, f"hosts match by their last labels: every host under .{host}"
    if any(host == one or one.endswith(f".{host}") for one in _ANYBODYS):
        return Level.HIGH, f"anybody gets a host under {host}"
    if any(host == one or one.endswith(f".{host}") for one in _SHARED):
        return Level.MEDIUM, f"the hosts under {host} show what anybody wrote"
    return Level.LOW, "scheme, port and path are dropped: the host and all under it"


def mcp_finding(target: str, *, harness_intact: bool) -> Finding:
    """Return how broad an `mcp` target is."""
    if target == EVERYTHING:
        return _finding(Level.CRITICAL, "every tool of every server, also of later ones")
    server, slash, tool = target.partition("/")
    whole = tool == EVERYTHING
    if not slash or not server or not tool or "*" in server or ("*" in tool and not whole):
        return _finding(Level.INERT, "only `server/tool`, `server/*` and `*` match a tool")
    if server == "harness":
        if harness_intact:
            return _finding(Level.LOW, "the harness's own tools, which go through the gate")
        return _finding(Level.CRITICAL, "the server called harness is not known to be the harness")
    if whole:
        return _finding(Level.HIGH, f"every tool of {server}, those that write included")
    if _RUNS.search(tool.lower()):
        return _finding(Level.HIGH, f"`{tool}` runs what the agent gives it")
    if _ALTERS.search(tool.lower()):
        return _finding(Level.MEDIUM, f"`{tool}` changes something")
    return _finding(Level.LOW, "one tool, with arguments of the agent's choosing")
