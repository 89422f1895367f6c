"""One module a verb of the user; collaborators come in as arguments."""
