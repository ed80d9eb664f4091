"""The conformance suite: every way to deduplicate against every hazard, on all schedules.

The code under test is the code that ships. It talks to in-memory services, and each call that it
makes is a step; who takes the next step, and what goes wrong at it, is chosen by an explorer that
walks every choice.
"""
