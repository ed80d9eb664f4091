"""What the functions share with one another, the command line and the audit.

The build packs it into every function. `execution` and `strict_json`, which Spark also uses, import
nothing but the standard library.
"""
