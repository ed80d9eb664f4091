from tests.support.moto_stack import aws_variables, moto_stack

__all__ = ["aws_variables", "moto_stack"]
