"""The audit: a record's way from its file to its message's verdict, in the order of the modules.

streams      what a stream is: its name, its columns, what one record of it says
layout       which files there are
lines        from files to lines, whatever a delivery did to them
reading      from files to records, of all streams together
records      from lines to records: what each says of its message, or what is wrong with it
verdicts     what a verdict is, and which a message has; verdict_names, where no Spark is needed
quarantine   the lines that are no records
gaps         how long after the first delivery duplicates come
summary      the numbers of a page, and the sentence
results      where all of it is put
job          these in their order, and the command line
"""
