"""What happened to executions of ProcessMessage, from their histories.

ExecutionRecordsFunction and the command line share it, so that their records have one form.
"""
