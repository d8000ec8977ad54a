"""Opens the page."""

from pages import close_page, open_page

open_page("pages/mechanism.py")
close_page("pages/mechanism.py")
