"""Which account, Region and stack a command works on: found, named, checked; its clients."""
