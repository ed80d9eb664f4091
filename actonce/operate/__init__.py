"""What an operator does: decide, discard, pause, work, and see how the stack and a message are."""
