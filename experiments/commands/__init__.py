"""What the subcommands of `trilithon` do; the parser is in cli.py."""
