"""How it happens on Delta: Spark, the log, Delta's commands. No dbt."""
