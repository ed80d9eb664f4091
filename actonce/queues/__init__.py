"""Queues as such: looking through one, going over one once, sending to one, at a rate."""
