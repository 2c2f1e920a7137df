"""One moment to explain: who was alive, with which books."""
