"""Roots of the CLI for tests: settings as the CLI and people write them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

Json = Mapping[str, object]


class Gemini:
    """One root of the CLI, `~/.gemini` of some user."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)

    def write(self, name: str, content: str | bytes | Json) -> Path:
        """Write a file below the root: text and bytes as they are, anything else as JSON."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        else:
            path.write_text(json.dumps(content, indent=2), encoding="utf-8")
        path.chmod(0o644)
        return path

    def settings(
        self,
        *,
        allow: Sequence[str] = (),
        ask: Sequence[str] = (),
        deny: Sequence[str] = (),
        **more: object,
    ) -> Path:
        """Write the CLI's own settings."""
        lists = {"allow": list(allow), "ask": list(ask), "deny": list(deny)}
        permissions = {name: rules for name, rules in lists.items() if rules}
        return self.write("antigravity-cli/settings.json", {"permissions": permissions, **more})

    def shared(
        self, *, allow: Sequence[str] = (), deny: Sequence[str] = (), **more: object
    ) -> Path:
        """Write the settings that app, IDE and CLI share."""
        grants = {"allow": list(allow), "deny": list(deny)}
        settings = {"globalPermissionGrants": grants, **more}
        return self.write("config/config.json", {"userSettings": settings})

    def project(self, name: str, *, allow: Sequence[str] = (), folder: str | None = None) -> Path:
        """Write a project with its grants."""
        content: dict[str, object] = {
            "id": name,
            "permissionGrants": {"permissionGrants": {"allow": list(allow)}},
        }
        if folder is not None:
            content["projectResources"] = {"resources": [{"folderUri": f"file://{folder}"}]}
        return self.write(f"config/projects/{name}.json", content)
