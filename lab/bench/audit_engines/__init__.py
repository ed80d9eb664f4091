"""The engines that `lab/bench/audit.py` compares, each in a process of its own."""
