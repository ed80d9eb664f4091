"""What is told of the verdicts, and where it is put.

tables     where results are put, so that a day run again replaces that day
summary    the numbers of a page, and the sentence
"""
