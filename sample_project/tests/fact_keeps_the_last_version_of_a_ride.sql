with

last_versions as (
    select ride_id, max_by(ended_at, received_at) as ended_at
    from {{ ref('stg_ride_events') }}
    group by ride_id
)

select rides.ride_id, rides.ended_at, last_versions.ended_at as expected_ended_at
from {{ ref('fct_rides') }} as rides
inner join last_versions on rides.ride_id = last_versions.ride_id
where rides.ended_at != last_versions.ended_at
