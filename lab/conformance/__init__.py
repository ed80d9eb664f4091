"""The conformance suite: every way to deduplicate against every hazard, on all schedules.

The code under test is the code that ships. It calls in-memory services, and each call is a step. An
explorer chooses which process takes the next step, and what goes wrong at it, and walks every
choice.
"""
