"""The other way to act once: a row per message that only one consumer may hold at a time."""
