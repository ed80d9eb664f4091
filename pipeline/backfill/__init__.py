"""The backfill: the messages of an archive sent once each, in the order of the modules.

archive   from files to rows
rows      from a row to a message, or what is wrong with it
plan      every row of the archive, and where it ends
work      the folder that outlives a run
send      what is planned and not confirmed, into the queue
job       these in their order
"""
