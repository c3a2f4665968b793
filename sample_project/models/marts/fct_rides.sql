{{
    config(
        materialized='delta_optimized',
        incremental_strategy='merge',
        unique_key='ride_id',
        partition_by=['ride_date'],
    )
}}

with

-- The watermark is the arrival, not the ride: a ride of last week that arrives today is new.
arrived as (
    select * from {{ ref('stg_ride_events') }}
    {% if is_incremental() %}
    where received_at > (select coalesce(max(received_at), timestamp '1970-01-01 00:00:00') from {{ this }})
    {% endif %}
),

ranked as (
    select
        *,
        row_number() over (partition by ride_id order by received_at desc) as recency
    from arrived
),

tariffs as (
    select * from {{ ref('stg_tariffs') }}
),

priced as (
    select
        rides.*,
        rides.duration_s < 60 and rides.start_station_id <=> rides.end_station_id as is_false_start,
        tariffs.unlock_fee,
        tariffs.per_minute_fee,
        greatest(ceil(rides.duration_s / 60) - tariffs.free_minutes, 0) as charged_minutes
    from ranked as rides
    left join tariffs
        on rides.plan_code = tariffs.plan_code
        and rides.ride_date between tariffs.valid_from and tariffs.valid_to
    where rides.recency = 1
)

select
    ride_id,
    bike_id,
    firmware_version,
    rider_id,
    plan_code,
    start_station_id,
    end_station_id,
    started_at,
    ended_at,
    duration_s,
    distance_m,
    is_false_start,
    cast(
        case
            when is_false_start or plan_code is null then 0
            else unlock_fee + per_minute_fee * charged_minutes
        end as decimal(8, 2)
    ) as fare,
    event_type = 'ride_corrected' as is_corrected,
    delay_s > 6 * 60 * 60 as is_late,
    received_at,
    ride_date
from priced
