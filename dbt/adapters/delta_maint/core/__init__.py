"""What should happen: pure decisions. No dbt, no pyspark, no I/O."""
