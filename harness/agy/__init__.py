"""The Antigravity CLI as a process: found, started, watched, ended."""
