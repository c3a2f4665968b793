from pyspark.sql import functions as F
from pyspark.sql.window import Window

SURGE_RATIO = 2.0


def model(dbt, session):
    dbt.config(materialized="delta_optimized", incremental_strategy="insert_overwrite")

    rides = dbt.ref("fct_rides").where(~F.col("is_false_start"))
    stations = dbt.ref("stg_stations").select("station_id", "station_name", "hub", "capacity")

    departures = daily_count(rides, "start_station_id", "departures")
    arrivals = daily_count(
        rides.where(F.col("end_station_id").isNotNull()), "end_station_id", "arrivals"
    )
    daily = departures.join(arrivals, ["station_id", "ride_date"], "full").fillna(0)

    # A range over day numbers and not over rows: a station without a single ride on some day has no row for it.
    day_number = F.datediff("ride_date", F.lit("1970-01-01").cast("date"))
    previous_week = Window.partitionBy("station_id").orderBy(day_number).rangeBetween(-7, -1)

    is_surge = F.col("departures") > SURGE_RATIO * F.col("departures_7d_mean")

    return (
        daily.withColumn("departures_7d_mean", F.round(F.avg("departures").over(previous_week), 2))
        .withColumn("net_flow", F.col("arrivals") - F.col("departures"))
        .withColumn("is_surge", F.coalesce(is_surge, F.lit(False)))
        .join(stations, "station_id")
        .withColumn("empties_dock", F.col("net_flow") < -F.col("capacity"))
        .select(
            "station_id",
            "station_name",
            "hub",
            "ride_date",
            "departures",
            "arrivals",
            "net_flow",
            "departures_7d_mean",
            "is_surge",
            "empties_dock",
        )
    )


def daily_count(rides, station_column, count_name):
    return rides.groupBy(F.col(station_column).alias("station_id"), "ride_date").agg(
        F.count("*").alias(count_name)
    )
