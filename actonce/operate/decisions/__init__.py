"""A person's decision on what waits as a dead letter.

allowed.py         which decisions there are, and which can be made on a letter
deciding.py        one decision, on one message or on all that were listed; it calls one of
by_task_token.py     answering the task that waits in Step Functions, or redriving its execution
in_lock_row.py       writing it to the row of a lease, which stands in its place
results.py         how each ends, and what is told of it
"""
