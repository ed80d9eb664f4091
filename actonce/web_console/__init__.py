"""The console in the browser: what happened to any message, and what is to be decided."""
