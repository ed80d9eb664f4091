from tests.cli.conftest import aws_variables, moto_stack

__all__ = ["aws_variables", "moto_stack"]
