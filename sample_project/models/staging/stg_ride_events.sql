with

events as (
    select * from {{ source('raw', 'ride_events') }}
)

select
    ride_id,
    event_type,
    bike_id,
    firmware_version,
    rider_id,
    plan_code,
    start_station_id,
    end_station_id,
    started_at,
    ended_at,
    unix_timestamp(ended_at) - unix_timestamp(started_at) as duration_s,
    distance_m,
    received_at,
    unix_timestamp(received_at) - unix_timestamp(ended_at) as delay_s,
    event_date as ride_date
from events
where ride_id is not null
