"""`actonce doctor`: whether what is deployed is what the stack assumes."""
