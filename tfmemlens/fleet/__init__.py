"""Many logs at once, on an engine the user already has (Dask, Spark, Ray): a storey above the one flow."""
