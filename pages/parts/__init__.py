"""What the pages share: controls, things on screen, and what the server holds once."""
