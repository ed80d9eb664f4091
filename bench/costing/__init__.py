"""What each way costs: counted on the embedded AWS, priced by a file; `bench.cost` runs it."""
