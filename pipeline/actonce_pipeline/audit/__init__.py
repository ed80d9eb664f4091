"""The audit: a record's way from its file to its message's verdict.

request    what is asked for, and how an audit ends
reading/   from files to records
cache      each day's records, normalised once
judging/   what a verdict is, and which a message has
results/   the numbers, the sentence, and where all of it is put
job        these in their order
"""
