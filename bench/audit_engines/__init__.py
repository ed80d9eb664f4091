"""The ways to judge the same files that `bench/audit.py` compares, each in a process of its own."""
