"""`actonce effect check`: the contract of an effect, tried on a team's own.

calls      asking an effect something, and what came of it, as the stack would read it
checks     what the contract promises, each tried and told; knows no processes
child      runs in a process of its own and calls the effect
processes  such processes: started, killed, timed, looked after
target     what a person named: a module, a file, a folder, a deployed function
on_lambda  a function of the embedded AWS instead
"""
