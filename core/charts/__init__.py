"""Results drawn with Altair. Each function returns a chart without data, built once."""
