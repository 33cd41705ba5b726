"""`python -m sfumato_research.families`: see `steps`, where processes started anew find its functions."""

from sfumato_research.families.steps import main

if __name__ == "__main__":
    main()
