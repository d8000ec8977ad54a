"""Results as pandas frames, with the unit of each number in its column's name."""
