"""The functions' logs on MiniStack."""

from actonce.aws import Stack


def hand_over(stack: Stack) -> None:
    """Have MiniStack take what the starter wrote.

    It takes a function's lines for some milliseconds after the answer. What comes later, on a
    machine that is busy, it takes after the next call only.
    """
    stack.lambda_.invoke(FunctionName=stack.starter_function, Payload=b'{"Records": []}')
