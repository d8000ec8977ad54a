"""The attention experiments: pure functions on NumPy arrays, with no screen attached."""
