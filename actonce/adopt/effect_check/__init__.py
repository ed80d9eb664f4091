"""`actonce effect check`: the contract of an effect, tried on the function that is deployed.

calls      events for an effect, and its answers as the stack reads them
checks     the checks of the contract; they do not know Lambda
on_lambda  calls and kills the function on the embedded AWS
bodies     reads the bodies that a person gave
"""
