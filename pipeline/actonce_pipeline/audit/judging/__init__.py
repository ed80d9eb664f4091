"""What a verdict is, and which a message has; the names alone where no Spark is needed."""
