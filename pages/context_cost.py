"""Opens the page."""

from pages import close_page, open_page

open_page("pages/context_cost.py")
close_page("pages/context_cost.py")
