"""`actonce init`: the stack in a repository of a team's own, and what a newer version changes."""
