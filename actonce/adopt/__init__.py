"""Bringing ActOnce into a team's repository, and checking the team's effect."""
