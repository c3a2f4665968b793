"""Where SQL and DataFrames run, and what each place can do."""
