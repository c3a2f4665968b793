"""dbt config -> frozen policy objects, validated once, one module per capability."""
