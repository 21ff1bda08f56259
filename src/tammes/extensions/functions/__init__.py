"""Set functions, the families of sets they are evaluated on, and closed forms on graphs and covers."""
