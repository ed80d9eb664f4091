"""`actonce effect check`: the contract of an effect, tried on a team's own.

calls      asking an effect something, and what came of it, as the stack would read it
checks     what the contract promises, each tried and told; knows no processes
processes  the effect in processes of its own: started, killed, timed
child      runs in such a process and calls the effect
on_lambda  a function of the embedded AWS instead
target     what a person named: a file, a body
"""
