"""A person's decision on what waits as a dead letter.

allowed.py         which decisions there are, and which can be made on a letter
deciding.py        one decision, on one message or on all that were listed
by_task_token.py   answering the task that waits in Step Functions, or redriving its execution
results.py         how each ends, and what is told of it
"""
