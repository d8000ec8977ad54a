"""Opens the page."""

from pages import close_page, open_page

open_page("pages/recall_training.py")
close_page("pages/recall_training.py")
