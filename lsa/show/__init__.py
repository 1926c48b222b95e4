"""How it is shown: figures, tables, live figures. They import the science, which never imports them."""
