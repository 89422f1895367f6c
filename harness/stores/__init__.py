"""Everything durable: the stores behind Protocols, and the files a person edits."""
