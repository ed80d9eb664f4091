"""What each way costs: counted on the embedded AWS, priced by a file; `lab.bench.cost` runs it."""
