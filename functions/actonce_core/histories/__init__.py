"""What executions of ProcessMessage went through, read from their histories.

Shared by the night's function and the command line, so that one record never has two forms.
"""
