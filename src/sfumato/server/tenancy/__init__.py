"""Who may ask, with which protector and ledger, and where their state is kept."""
