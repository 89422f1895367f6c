"""One module a command; each exposes it as `command` and is imported when it is called."""
