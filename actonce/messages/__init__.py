"""What became of a message: its history, its story, and the lists that messages stand in."""
