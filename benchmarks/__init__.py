"""What the lab costs, measured on the machine at hand."""
