"""`actonce effect check`: the contract of an effect, tried on the function that is deployed.

calls      asking an effect something, and what came of it, as the stack would read it
checks     what the contract promises, each tried and told; knows no function of Lambda's
on_lambda  the function, on the embedded AWS: called, killed
bodies     the bodies that a person named
"""
