"""What a person sees and types, for every command: output, errors, days, names of errors."""
