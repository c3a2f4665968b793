with

rides as (
    select * from {{ ref('fct_rides') }}
    where not is_false_start
),

by_day as (
    select
        ride_date,
        count(*) as rides,
        count(distinct rider_id) as riders,
        sum(fare) as revenue,
        round(avg(duration_s) / 60, 1) as mean_minutes,
        count_if(is_late) as late_rides,
        count_if(is_corrected) as corrected_rides
    from rides
    group by ride_date
),

by_station as (
    select
        ride_date,
        start_station_id,
        row_number() over (partition by ride_date order by count(*) desc, start_station_id) as busyness
    from rides
    group by ride_date, start_station_id
)

select
    by_day.*,
    stations.station_name as busiest_station
from by_day
inner join by_station
    on by_day.ride_date = by_station.ride_date
    and by_station.busyness = 1
inner join {{ ref('stg_stations') }} as stations
    on by_station.start_station_id = stations.station_id
