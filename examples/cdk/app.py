"""ActOnce in front of a function that CDK deploys: docs/terraform-and-cdk.md."""

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from aws_cdk.cloudformation_include import CfnInclude

EFFECT_SECONDS = 10

app = cdk.App()
shop = cdk.Stack(app, "shop", termination_protection=True)

effect = lambda_.Function(
    shop,
    "GiftCards",
    runtime=lambda_.Runtime.PYTHON_3_13,
    handler="your_effect.handler",
    code=lambda_.Code.from_asset("functions"),
    timeout=cdk.Duration.seconds(EFFECT_SECONDS),
    # Open executions name earlier versions, which CDK would delete.
    current_version_options=lambda_.VersionOptions(removal_policy=cdk.RemovalPolicy.RETAIN),
)
version = effect.current_version.function_arn

# A nested stack: its conditions look at its parameters, and no condition can look at a function.
once = cdk.NestedStack(
    shop,
    "Once",
    parameters={
        "EffectFunctionArn": version,
        "FindFunctionArn": version,
        "EffectTimeoutSeconds": str(EFFECT_SECONDS),
    },
)
CfnInclude(once, "Template", template_file="once.yaml")

queue_url = once.nested_stack_resource.get_att("Outputs.RequestsQueueUrl")
cdk.CfnOutput(shop, "RequestsQueueUrl", value=cdk.Token.as_string(queue_url))

app.synth()
