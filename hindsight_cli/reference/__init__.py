"""Man pages, completion scripts and the README's command table, made from the command tree."""
