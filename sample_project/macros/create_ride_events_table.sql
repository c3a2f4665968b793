{#- The schema is written down because an inferred one changes with the file that happens to be read first. -#}
{% macro create_ride_events_table(path) -%}
    create table if not exists raw.ride_events (
        ride_id string,
        event_type string,
        bike_id string,
        firmware_version string,
        rider_id bigint,
        plan_code string,
        start_station_id int,
        end_station_id int,
        started_at timestamp,
        ended_at timestamp,
        distance_m int,
        received_at timestamp,
        event_date date
    )
    using parquet
    partitioned by (event_date)
    location '{{ dbt.escape_single_quotes(absolute_path(path)) }}'
{%- endmacro %}


{#- A folder that was converted to Delta knows its files by itself. -#}
{% macro find_new_partitions() -%}
    {%- set events = api.Relation.create(database=target.database, schema='raw', identifier='ride_events') -%}
    {%- if execute and adapter.table_provider(events) == 'parquet' -%}
        msck repair table raw.ride_events sync partitions
    {%- endif -%}
{%- endmacro %}
