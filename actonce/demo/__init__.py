"""The main job: requests sent, delivered and interrupted more than once, each acted on once."""
