"""The leaderboard: encoders x defences x attacks, a row a command (research/protocol-leaderboard.md)."""
