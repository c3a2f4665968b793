select bike_id, count(*) as current_rows
from {{ ref('bikes_history') }}
where dbt_valid_to is null
group by bike_id
having count(*) != 1
