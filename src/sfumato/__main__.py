"""`python -m sfumato` is the `sfumato` command."""

from sfumato.cli.main import run

if __name__ == "__main__":
    run()
