"""`python -m harness`: the same as the console script."""

from harness.cli import main

if __name__ == "__main__":
    main()
