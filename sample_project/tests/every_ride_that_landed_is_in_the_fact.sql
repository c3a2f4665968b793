select landed.ride_id, landed.ride_date
from {{ ref('stg_ride_events') }} as landed
left anti join {{ ref('fct_rides') }} as rides
    on landed.ride_id = rides.ride_id
    and landed.ride_date = rides.ride_date
