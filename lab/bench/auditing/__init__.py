"""The audit beside other ways to the same verdicts; `lab.bench.audit` runs them."""
