"""JSON documents, which are contracts."""
