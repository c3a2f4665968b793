with

ranked as (
    select
        bike_id,
        firmware_version,
        end_station_id,
        ended_at,
        row_number() over (partition by bike_id order by started_at desc, ride_id desc) as recency
    from {{ ref('fct_rides') }}
),

totals as (
    select
        bike_id,
        count(*) as rides,
        round(sum(distance_m) / 1000, 1) as distance_km
    from {{ ref('fct_rides') }}
    group by bike_id
)

select
    ranked.bike_id,
    ranked.firmware_version,
    ranked.end_station_id as last_station_id,
    ranked.ended_at as last_seen_at,
    totals.rides,
    totals.distance_km
from ranked
inner join totals on ranked.bike_id = totals.bike_id
where ranked.recency = 1
