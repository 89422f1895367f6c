"""What users need to test their own jobs: a stand-in for the Antigravity CLI."""
