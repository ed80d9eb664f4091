"""The audit's records brought together, and its results read; its page."""
