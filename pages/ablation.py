"""Opens the page."""

from pages import close_page, open_page

open_page("pages/ablation.py")
close_page("pages/ablation.py")
