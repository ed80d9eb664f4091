"""Bad weather for a stack on the embedded AWS: throttling, outages, a provider that is slow."""
