"""From files to records, in the order of the modules.

storage      where files are: here, in Hadoop's file systems, in S3
streams      what a stream is: its name, and what one record of it says
listing      which files there are
row          what one record says of its message
records      from a file to rows: what each record says of its message, or what is wrong with it
events       all streams' records together, and under which id each is known
quarantine   the lines that are no records
"""
