"""The stack on moto that commands and rooms below them are tried on."""

from tests.support.moto_stack import actonce, aws_variables, machine, minute_long_looks, moto_stack

__all__ = ["actonce", "aws_variables", "machine", "minute_long_looks", "moto_stack"]
