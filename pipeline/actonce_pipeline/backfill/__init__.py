"""The backfill: from an archive to a file of its distinct messages, in the order of the modules.

archive   from files to rows
rows      from a row to a message, or what is wrong with it
plan      every row of the archive, and where it ends
"""
