"""What the functions share: how a delivery becomes one execution, or says why not."""
