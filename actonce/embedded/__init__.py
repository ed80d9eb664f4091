"""The embedded AWS: MiniStack on loopback, with this project's stack deployed on it."""
