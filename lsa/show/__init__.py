"""How it is shown: figures, tables, widgets. These modules import the science, which never imports them."""
