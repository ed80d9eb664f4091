"""What every function of the stack shares: how a delivery becomes one execution, or says why not."""
