select
    plan_code,
    plan_name,
    unlock_fee,
    per_minute_fee,
    free_minutes,
    valid_from,
    coalesce(valid_to, date '9999-12-31') as valid_to
from {{ ref('tariffs') }}
