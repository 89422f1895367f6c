"""Imported first: makes the harness of this checkout the one that is measured."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parent.parent))
