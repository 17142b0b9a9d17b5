# SPDX-License-Identifier: GPL-2.0
#
# For Sphinx 5.3, Debian 12's, and later: "make docs" runs it. Nothing but Sphinx itself is needed.

project = "rdmafs"
author = "rdmafs developers"
html_show_copyright = False

exclude_patterns = ["_build"]

# Literal blocks are shell, layouts and drawings, and shown as they are; so are "--" and quotes.
highlight_language = "none"
smartquotes = False

html_theme = "alabaster"
