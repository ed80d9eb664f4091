# ActOnce in front of a function that Terraform deploys: docs/terraform-and-cdk.md.

terraform {
  required_version = ">= 1.5"
  required_providers {
    aws = { source = "hashicorp/aws", version = ">= 5.0" }
  }
}

variable "effect_role_arn" {
  type        = string
  description = "The role of your function."
}

locals {
  effect_seconds = 10
}

resource "aws_lambda_function" "effect" {
  function_name    = "gift-cards"
  role             = var.effect_role_arn
  runtime          = "python3.13"
  handler          = "your_effect.handler"
  filename         = "${path.module}/effect.zip"
  source_code_hash = filebase64sha256("${path.module}/effect.zip")
  timeout          = local.effect_seconds
  publish          = true # a version with each change, whose ARN is qualified_arn
  skip_destroy     = true # open executions name earlier versions
}

resource "aws_cloudformation_stack" "once" {
  name          = "shop-once"
  template_body = file("${path.module}/once.yaml")
  capabilities  = ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]
  on_failure    = "DELETE" # of a first deployment, so that the next one may create it

  parameters = {
    EffectFunctionArn    = aws_lambda_function.effect.qualified_arn
    FindFunctionArn      = aws_lambda_function.effect.qualified_arn
    EffectTimeoutSeconds = local.effect_seconds
  }

  lifecycle {
    prevent_destroy = true # another stack knows nothing of what this one has acted on
  }
}

output "requests_queue_url" {
  value = aws_cloudformation_stack.once.outputs["RequestsQueueUrl"]
}
