"""`python -m onewrite_cli`: see app."""

from onewrite_cli.app import main

if __name__ == "__main__":
    raise SystemExit(main())
