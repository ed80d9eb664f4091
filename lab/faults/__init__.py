"""Transient failures, injected into a stack on the embedded AWS."""
