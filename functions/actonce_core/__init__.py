"""What the functions share with one another, with the command line and with the audit.

Installed beside `actonce` and `pipeline`, and packed into every function by the build. What a
message is (`execution`, `strict_json`) imports nothing but the standard library.
"""
