"""What happened to executions of ProcessMessage, from their histories.

DeadLettersFunction and the command line share it, so that their records have one form.
"""
