"""The options of commands: what each is called, what it takes, and its line of help."""
