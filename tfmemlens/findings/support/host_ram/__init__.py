"""Host RAM that ran out: what it was for, who limits it, and what helps."""
