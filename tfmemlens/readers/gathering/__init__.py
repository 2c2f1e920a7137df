"""Where inputs come from, and several as one."""
