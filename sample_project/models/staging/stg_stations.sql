select
    station_id,
    station_name,
    hub,
    capacity,
    latitude,
    longitude,
    opened_on,
    closed_on,
    closed_on is null as is_open,
    note
from {{ ref('stations') }}
