"""A module for each view: what it shows, and what can be done there."""
