"""Environments: PettingZoo faces of the games in `trilithon.core`."""
