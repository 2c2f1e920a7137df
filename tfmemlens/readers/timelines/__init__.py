"""From records of a step to timelines."""
