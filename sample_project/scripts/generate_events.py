"""Write the raw ride events of the sample project.

The same arguments give the same files: what each hub sends on each day has a random generator of its own, with a fixed
seed. Nothing is ever deleted, and a file appears under its name only when it is complete.

    python scripts/generate_events.py            the first thirty days
    python scripts/generate_events.py --late     one more day, and what arrived late for the days before
    python scripts/generate_events.py --late 2   the day after that
"""

from __future__ import annotations

import argparse
import csv
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

PROJECT = Path(__file__).resolve().parent.parent
SEED = 20250501
FIRST_DAY = date(2025, 5, 1)

RIDES_ON_WEEKDAY = 1_400
RIDES_ON_WEEKEND = 1_900
# The harbour festival and a strike of the underground: three days hold more than a third of all rows.
RIDES_ON_BIG_DAY = {date(2025, 5, 10): 12_000, date(2025, 5, 11): 9_500, date(2025, 5, 22): 8_000}
CROWDED_HUB = {
    date(2025, 5, 10): "harbour",
    date(2025, 5, 11): "harbour",
    date(2025, 5, 22): "campus",
}
HUB_SHARE = {
    "centre": 0.34,
    "harbour": 0.24,
    "campus": 0.18,
    "north": 0.10,
    "east": 0.10,
    "airport": 0.04,
}
BIKES = 420
RIDERS = 9_000
PLAN_SHARE = {"payg": 0.46, "month": 0.38, "day": 0.14, None: 0.02}

LATE_RATIO = 0.03
CORRECTED_RATIO = 0.01
LATE_FILES_PER_BATCH = 24

SCHEMA = pa.schema(
    [
        pa.field("ride_id", pa.string(), nullable=False),
        ("event_type", pa.string()),
        ("bike_id", pa.string()),
        ("firmware_version", pa.string()),
        ("rider_id", pa.int64()),
        ("plan_code", pa.string()),
        ("start_station_id", pa.int32()),
        ("end_station_id", pa.int32()),
        ("started_at", pa.timestamp("us", tz="UTC")),
        ("ended_at", pa.timestamp("us", tz="UTC")),
        ("distance_m", pa.int32()),
        ("received_at", pa.timestamp("us", tz="UTC")),
    ]
)


@dataclass(frozen=True)
class Station:
    station_id: int
    hub: str
    capacity: int
    opened_on: date
    closed_on: date

    def is_open(self, day: date) -> bool:
        return self.opened_on <= day <= self.closed_on


@dataclass(frozen=True)
class Ride:
    ride_id: str
    event_type: str
    bike_id: str
    firmware_version: str
    rider_id: int
    plan_code: str | None
    start_station_id: int
    end_station_id: int | None
    started_at: datetime
    ended_at: datetime
    distance_m: int | None
    received_at: datetime


@dataclass(frozen=True)
class Upload:
    """One parquet file: the rides of one day that one hub delivered together."""

    day: date
    name: str
    rides: list[Ride]


def read_stations() -> list[Station]:
    with open(PROJECT / "seeds" / "stations.csv", newline="", encoding="utf-8") as file:
        return [
            Station(
                station_id=int(row["station_id"]),
                hub=row["hub"],
                capacity=int(row["capacity"]),
                opened_on=date.fromisoformat(row["opened_on"]),
                closed_on=date.fromisoformat(row["closed_on"] or "9999-12-31"),
            )
            for row in csv.DictReader(file)
        ]


def draw(*name: object) -> random.Random:
    return random.Random("/".join(str(part) for part in (SEED, *name)))


def at(day: date, seconds: float) -> datetime:
    return datetime.combine(day, time(), tzinfo=timezone.utc) + timedelta(seconds=int(seconds))


def firmware_of(bike: int, day: date) -> str:
    """Two versions went to a part of the fleet; the third goes to everyone from day thirty on, in six steps."""
    days_in = (day - FIRST_DAY).days
    if days_in >= 30 + bike % 6:
        return "4.3.0"
    if days_in >= 20 and bike % 5 == 0:
        return "4.2.0"
    if days_in >= 10 and bike % 4 == 0:
        return "4.1.3"
    return "4.1.0"


def share_of(hub: str, day: date) -> float:
    weights = {
        name: share * (3 if name == CROWDED_HUB.get(day) else 1)
        for name, share in HUB_SHARE.items()
    }
    return weights[hub] / sum(weights.values())


def start_second(rng: random.Random) -> float:
    """Morning and evening peaks over a flat day, from 5:00 to 22:30."""
    peak = rng.choices((8.25, 17.75, None), weights=(0.3, 0.35, 0.35))[0]
    hour = rng.uniform(5, 22.5) if peak is None else rng.gauss(peak, 1.0)
    return min(max(hour, 5), 22.5) * 3600


def rides_of(day: date, hub: str, stations: list[Station]) -> list[Ride]:
    """All rides that started at the hub's stations on that day, as if each had arrived at once."""
    rng = draw("rides", day, hub)
    open_stations = [station for station in stations if station.is_open(day)]
    starts = [station for station in open_stations if station.hub == hub]
    start_weights = [station.capacity for station in starts]
    end_weights = [station.capacity * (3 if station.hub == hub else 1) for station in open_stations]
    usual = RIDES_ON_WEEKEND if day.weekday() >= 5 else RIDES_ON_WEEKDAY
    count = round(RIDES_ON_BIG_DAY.get(day, usual) * share_of(hub, day) * rng.uniform(0.9, 1.1))

    rides = []
    for number in range(count):
        bike = rng.randrange(BIKES)
        start = rng.choices(starts, start_weights)[0].station_id
        end: int | None = rng.choices(open_stations, end_weights)[0].station_id
        duration_s = min(rng.lognormvariate(6.4, 0.6), 3300.0)
        distance_m: int | None = int(duration_s * rng.uniform(2.4, 4.6))
        plan = rng.choices(list(PLAN_SHARE), list(PLAN_SHARE.values()))[0]
        oddity = rng.random()
        if oddity < 0.02:
            end, duration_s, distance_m = start, rng.uniform(8, 58), 0
        elif oddity < 0.03:
            end = None
        elif oddity < 0.05:
            distance_m = None
        started_at = at(day, start_second(rng))
        ended_at = started_at + timedelta(seconds=int(duration_s))
        rides.append(
            Ride(
                ride_id=f"{day:%Y%m%d}-{hub}-{number:05d}",
                event_type="ride_ended",
                bike_id=f"B{bike:04d}",
                firmware_version=firmware_of(bike, day),
                rider_id=100_000 + rng.randrange(RIDERS),
                plan_code=plan,
                start_station_id=start,
                end_station_id=end,
                started_at=started_at,
                ended_at=ended_at,
                distance_m=distance_m,
                received_at=ended_at + timedelta(seconds=rng.randrange(5, 600)),
            )
        )
    return rides


def delayed(ride: Ride, arrival: date, rng: random.Random) -> Ride:
    return replace(ride, received_at=at(arrival, rng.uniform(6 * 3600, 23 * 3600)))


def corrected(ride: Ride, arrival: date, rng: random.Random) -> Ride:
    """The lock had reported the end of the ride too late: the real one is earlier, and so is the bill."""
    duration = (ride.ended_at - ride.started_at) * rng.uniform(0.5, 0.9)
    ended_at = ride.started_at + timedelta(seconds=int(duration.total_seconds()))
    return delayed(replace(ride, event_type="ride_corrected", ended_at=ended_at), arrival, rng)


def uploads_of(
    day: date, hub: str, stations: list[Station], last_arrival: date
) -> Iterator[Upload]:
    """The hub's file of the day and, for bikes that were out of reach and came back by the last arrival, a late one."""
    rides = rides_of(day, hub, stations)
    rng = draw("late", day, hub)
    arrival = day + timedelta(days=rng.randint(1, 6))
    if rng.random() > 0.15 or arrival > last_arrival:
        yield Upload(day, f"{hub}.parquet", rides)
        return
    in_time: list[Ride] = []
    late: list[Ride] = []
    for ride in rides:
        (late if rng.random() < LATE_RATIO else in_time).append(ride)
    yield Upload(day, f"{hub}.parquet", in_time)
    yield Upload(
        day,
        f"{hub}-arrived-{arrival:%Y%m%d}.parquet",
        [delayed(ride, arrival, rng) for ride in late]
        + [corrected(ride, arrival, rng) for ride in in_time if rng.random() < CORRECTED_RATIO],
    )


def first_load(days: int, stations: list[Station]) -> Iterator[Upload]:
    last_day = FIRST_DAY + timedelta(days=days - 1)
    for offset in range(days):
        for hub in HUB_SHARE:
            yield from uploads_of(FIRST_DAY + timedelta(days=offset), hub, stations, last_day)


def late_batch(batch: int, days: int, stations: list[Station]) -> Iterator[Upload]:
    """One more day, and small files for old days: rides nobody has seen yet and corrections of known ones."""
    arrival = FIRST_DAY + timedelta(days=days + batch - 1)
    for hub in HUB_SHARE:
        yield from uploads_of(arrival, hub, stations, arrival)

    rng = draw("batch", batch)
    old = [(FIRST_DAY + timedelta(days=offset), hub) for offset in range(days) for hub in HUB_SHARE]
    for day, hub in sorted(rng.sample(old, min(LATE_FILES_PER_BATCH, len(old)))):
        known = rides_of(day, hub, stations)
        new = [
            replace(
                delayed(ride, arrival, rng),
                ride_id=f"{day:%Y%m%d}-{hub}-{batch:02d}{index:05d}",
                rider_id=100_000 + rng.randrange(RIDERS),
            )
            for index, ride in enumerate(
                rng.sample(known, rng.randint(1, max(1, min(40, len(known) // 4))))
            )
        ]
        repeated = [
            corrected(ride, arrival, rng) for ride in known if rng.random() < CORRECTED_RATIO
        ]
        yield Upload(day, f"{hub}-arrived-{arrival:%Y%m%d}.parquet", new + repeated)


def write(upload: Upload, out: Path) -> None:
    folder = out / f"event_date={upload.day.isoformat()}"
    folder.mkdir(parents=True, exist_ok=True)
    rides = sorted(upload.rides, key=lambda ride: (ride.received_at, ride.ride_id))
    table = pa.Table.from_pylist([vars(ride) for ride in rides], schema=SCHEMA)
    # Spark takes no notice of names that start with an underscore, so a run that reads meanwhile sees whole files only.
    unfinished = folder / f"_{upload.name}"
    pq.write_table(table, unfinished)
    os.replace(unfinished, folder / upload.name)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the raw ride events of the sample project.")
    default_out = PROJECT / "data" / "raw" / "ride_events"
    parser.add_argument(
        "--out", type=Path, default=default_out, help="folder to write to (default: %(default)s)"
    )
    parser.add_argument(
        "--days", type=int, default=30, help="days in the first load (default: %(default)s)"
    )
    parser.add_argument(
        "--late", type=int, nargs="?", const=1, metavar="BATCH", help="add a day and late files"
    )
    arguments = parser.parse_args()
    if arguments.days < 1 or (arguments.late is not None and arguments.late < 1):
        parser.error("--days and --late count from 1")

    stations = read_stations()
    if arguments.late is None:
        uploads = first_load(arguments.days, stations)
    else:
        uploads = late_batch(arguments.late, arguments.days, stations)

    files = rows = 0
    for upload in uploads:
        if upload.rides:
            write(upload, arguments.out)
            files += 1
            rows += len(upload.rides)
    print(f"{rows:,} events in {files} files in {arguments.out}")


if __name__ == "__main__":
    main()
