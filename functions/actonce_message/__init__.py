"""What a message is: the one set of rules for whoever starts one, sends one or records one.

Installed beside `actonce` and `pipeline`, and packed into every function: it imports nothing but
the standard library.
"""
