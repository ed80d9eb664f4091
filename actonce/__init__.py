"""The command line, the embedded AWS and the demo."""
