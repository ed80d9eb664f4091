"""The ways to deduplicate: this project's, and what people use instead."""
