"""Run Antigravity CLI jobs at night, unattended, and judge them in the morning."""

__version__ = "0.1.0"
