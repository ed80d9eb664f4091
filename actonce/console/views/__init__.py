"""One module for each view: what it shows, and what can be asked for on it."""
