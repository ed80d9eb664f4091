"""What this project is tried with: conformance walks, benchmarks, and the failures they inject."""
