"""Spark and Delta inside the dbt process.

One base session per process, made once under a lock and never handed out; every dbt connection gets
`newSession()` of it, with a job group of its own, so that cancelling one connection stops its jobs,
running and coming, and no others.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.delta_maint.core.errors import (
    CatalogError,
    DeltaMaintError,
    SparkStartError,
)
from dbt.adapters.delta_maint.environments.base import Environment, Handle, Verdict
from dbt.adapters.delta_maint.environments.catalog import CatalogLock
from dbt.adapters.delta_maint.environments.class_archive import ClassArchive, choose_archive
from dbt.adapters.delta_maint.environments.jars import (
    DeltaVersions,
    check_spark_home,
    find_delta_jars,
    find_spark_home,
    obtain_delta_jars,
)
from dbt.adapters.delta_maint.environments.java import find_java
from dbt.adapters.delta_maint.environments.log_setup import quiet_python_loggers, write_log4j_file
from dbt.adapters.delta_maint.environments.scratch import remove_scratch, scratch_folder
from dbt.adapters.delta_maint.environments.session_cursor import SessionCursor
from dbt.adapters.delta_maint.environments.session_settings import SessionSettings, prepare_folders
from dbt.adapters.delta_maint.environments.spark_process import start_gateway
from dbt.adapters.delta_maint.lake.spark_errors import telling_sentence
from dbt.adapters.delta_maint.lake.sql_runner import SessionSql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGES = "spark.jars.packages"
JOBS_WORTH_AN_ARCHIVE = 8
CANCEL_AGAIN_SECONDS = 0.3

DELTA_CONFS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.sources.default": "delta",
    # Delta's parser does not pass on the newer kind of parameter: `?` would stay unbound.
    "spark.sql.legacy.parameterSubstitution.constantsOnly": "true",
}
QUIET_CONFS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.pyspark.jvmStacktrace.enabled": "false",
    "spark.sql.dataFrameQueryContext.enabled": "false",
}


class SessionHandle(Handle):
    def __init__(
        self, spark: SparkSession, *, after_commit: Callable[[], None] = lambda: None
    ) -> None:
        self.spark = spark
        self._after_commit = after_commit
        self._group = f"dbt-{uuid.uuid4().hex}"
        self._work = "dbt"
        self._cancelled = False
        self._closed = threading.Event()

    @property
    def sql(self) -> SessionSql:
        return SessionSql(self.spark)

    def cursor(self) -> SessionCursor:
        return SessionCursor(self.spark, self.mark_thread, self._after_commit)

    @property
    def job_group(self) -> str:
        """The name under which Spark knows the jobs of this connection."""
        return self._group

    def describe_work(self, name: str) -> None:
        self._work = name

    def mark_thread(self) -> None:
        """Jobs started by this thread belong to this connection from here on."""
        if self._cancelled:
            raise DeltaMaintError("This connection was cancelled.")
        context = self.spark.sparkContext
        context.setJobGroup(self._group, self._work, interruptOnCancel=True)
        # A pool of its own: in a shared one a small query waits for every task of a large neighbour.
        context.setLocalProperty("spark.scheduler.pool", self._group)

    def cancel(self) -> None:
        self._cancelled = True
        self._stop_jobs()
        threading.Thread(
            target=self._keep_stopping, name=f"{self._group}-cancel", daemon=True
        ).start()

    def close(self) -> None:
        """The session's temporary views and confs go with it; nothing else holds them."""
        self._closed.set()

    def _stop_jobs(self) -> None:
        self.spark.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(self._group)

    def _keep_stopping(self) -> None:
        """A statement that was still being planned starts its stages later, and adaptive execution
        starts each as a job of its own, which Spark does not count among the future ones."""
        with contextlib.suppress(Exception):  # Spark has gone, and its jobs with it
            while not self._closed.wait(CANCEL_AGAIN_SECONDS):
                self._stop_jobs()


class SessionEnvironment(Environment):
    def __init__(
        self, settings: SessionSettings, *, tell: Callable[[str], None] = lambda line: None
    ) -> None:
        self.settings = settings
        self._tell = tell
        self._lock = threading.Lock()
        self._base: SparkSession | None = None
        self._catalog_lock: CatalogLock | None = None
        self._gateway: Any = None
        self._archive: ClassArchive | None = None
        self._has_committed = False

    def open(self) -> SessionHandle:
        session = self._base_session().newSession()
        # Ours decides from the table; with Delta's own beside it, files would be rewritten twice.
        session.conf.set("spark.databricks.delta.autoCompact.enabled", "false")
        return SessionHandle(session, after_commit=self._note_commit)

    def inspect(self) -> list[Verdict]:
        versions: DeltaVersions | None = None
        found: list[Verdict] = []

        def look(subject: str, question: Any) -> None:
            try:
                found.append(Verdict(subject, str(question())))
            except DeltaMaintError as exc:
                found.append(Verdict(subject, str(exc), is_good=False))

        def java() -> str:
            java = find_java()
            return f"{java.version} at {java.executable}"

        def spark() -> str:
            nonlocal versions
            versions = DeltaVersions.installed()
            home = find_spark_home()
            check_spark_home(home, versions)
            return f"{versions.spark} at {home}, master {self.settings.master}"

        def jars() -> str:
            if PACKAGES in self.settings.confs:
                return f"{PACKAGES}={self.settings.confs[PACKAGES]}"
            jars = find_delta_jars(versions, given=self.settings.delta_jars) if versions else None
            return ", ".join(str(jar) for jar in jars) if jars else "fetched at the first start"

        def warehouse() -> str:
            prepare_folders(self.settings)
            return self.settings.warehouse

        look("java", java)
        look("spark", spark)
        look("delta", lambda: versions.delta if versions else "unknown")
        look("jars", jars)
        look("warehouse", warehouse)
        look("catalog", self.settings.catalog.describe)
        look("method", lambda: "session, Spark runs inside dbt")
        look("log file", lambda: self.settings.log_file)
        return found

    def close(self) -> None:
        with self._lock:
            base, self._base = self._base, None
            if base is not None:
                with contextlib.suppress(Exception):
                    self._keep_archive(base)
                if self._catalog_lock is not None:
                    _shut_down_derby(base)
                with contextlib.suppress(Exception):
                    base.stop()
            self._end_process()

    def _end_process(self) -> None:
        self._shut_down_jvm()
        if self._catalog_lock is not None:
            self._catalog_lock.release()
            self._catalog_lock = None
        remove_scratch(self.settings.home)

    def _keep_archive(self, base: SparkSession) -> None:
        """An archive is worth its place when Delta has committed something, or much has run."""
        if self._archive is None or self._archive.is_ready:
            return
        jobs = base.sparkContext._jsc.sc().dagScheduler().nextJobId()
        if self._has_committed or int(jobs) >= JOBS_WORTH_AN_ARCHIVE:
            self._archive.keep()

    def _note_commit(self) -> None:
        self._has_committed = True

    def _shut_down_jvm(self) -> None:
        gateway, self._gateway = self._gateway, None
        if gateway is None:
            return
        from pyspark import SparkContext

        with contextlib.suppress(Exception):
            gateway.shutdown()
        with contextlib.suppress(Exception):
            gateway.proc.stdin.close()
        if SparkContext._gateway is gateway:
            SparkContext._gateway = None
            SparkContext._jvm = None

    def _base_session(self) -> SparkSession:
        with self._lock:
            if self._base is None:
                self._base = self._start()
            return self._base

    def _start(self) -> SparkSession:
        prepare_folders(self.settings)
        java = find_java()
        versions = DeltaVersions.installed()
        spark_home = find_spark_home()
        check_spark_home(spark_home, versions)
        jars: tuple[Path, ...] = ()
        if PACKAGES not in self.settings.confs:
            jars = obtain_delta_jars(
                versions,
                spark_home=spark_home,
                given=self.settings.delta_jars,
                tell=self._tell,
            )
        if self.settings.catalog.is_embedded and self._catalog_lock is None:
            assert self.settings.catalog.folder is not None
            lock = CatalogLock(
                self.settings.catalog.folder, wait_seconds=self.settings.catalog_wait_seconds
            )
            lock.acquire()
            self._catalog_lock = lock
        class_path = (*jars, *sorted((spark_home / "jars").glob("*.jar")))
        flavour = [*_garbage_collector(self.settings), self.settings.catalog.kind]
        archive = choose_archive(java, class_path, flavour=flavour) if jars else None
        try:
            return self._launch(spark_home, jars, archive)
        except BaseException:
            self._end_process()
            raise

    def _launch(
        self, spark_home: Path, jars: tuple[Path, ...], archive: ClassArchive | None
    ) -> SparkSession:
        from pyspark import SparkConf, SparkContext
        from pyspark.sql import SparkSession

        if SparkContext._active_spark_context is not None:
            raise SparkStartError(
                "A Spark session with other settings already runs in this process: stop it before "
                "dbt starts its own."
            )
        quiet_python_loggers()
        self._archive = archive
        confs = session_confs(self.settings, jars, archive)
        self._gateway = start_gateway(
            spark_home=spark_home,
            confs=confs,
            log_file=self.settings.log_file,
            archive_partial=archive.partial if archive and not archive.is_ready else None,
            archive_final=archive.path if archive else None,
        )
        try:
            SparkContext._ensure_initialized(gateway=self._gateway)
            conf = SparkConf(loadDefaults=False, _jvm=self._gateway.jvm)
            conf.setAll(list(confs.items()))
            context = SparkContext(conf=conf, gateway=self._gateway)
            context.pythonExec = worker_python(self.settings)
            session = SparkSession(context)
        except Exception as exc:
            raise SparkStartError(self._start_fault(telling_sentence(exc))) from exc
        if self.settings.catalog.is_kept:
            try:
                session.sql("show databases").collect()
            except Exception as exc:
                raise CatalogError(self._catalog_fault(telling_sentence(exc))) from exc
        atexit.register(self.close)
        return session

    def _catalog_fault(self, sentence: str) -> str:
        catalog, log = self.settings.catalog, self.settings.log_file
        if catalog.is_embedded:
            return (
                f"The embedded catalog in {catalog.folder} cannot be read: {sentence} (log: {log})"
            )
        return (
            f"The Hive metastore at {catalog.kind} does not answer: {sentence}. Start it, or correct "
            f"`catalog` in the profile (log: {log})"
        )

    def _start_fault(self, sentence: str) -> str:
        if not self.settings.is_local:
            return (
                f"Spark could not start on master {self.settings.master}: {sentence} "
                f"(log: {self.settings.log_file})"
            )
        return f"Spark could not start: {sentence} (log: {self.settings.log_file})"


def session_confs(
    settings: SessionSettings, jars: tuple[Path, ...], archive: ClassArchive | None
) -> dict[str, str]:
    """The confs of the base session: ours, then what the profile says, which wins."""
    log_folder = settings.log_file.parent
    log4j = write_log4j_file(log_folder, settings.log_file)
    options = [
        f"-Dlog4j2.configurationFile=file:{log4j}",
        f"-Djava.io.tmpdir={scratch_folder(settings.home)}",
        *settings.catalog.java_options(log_folder=log_folder),
        *_garbage_collector(settings),
    ]
    if settings.favours_start:
        # C1 alone shrinks the code cache to 48 MB, which Spark's generated code outgrows.
        options += ["-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m"]
    if archive is not None:
        options += archive.java_options()
    confs = {
        "spark.app.name": "dbt-delta-maint",
        "spark.master": settings.master,
        "spark.driver.memory": settings.heap,
        "spark.sql.warehouse.dir": settings.warehouse,
        "spark.sql.ansi.enabled": "false",
        "spark.sql.artifact.isolation.enabled": "false",
        "spark.scheduler.mode": "FAIR",
        # DESCRIBE shows wide structs in full.
        "spark.sql.debug.maxToStringFields": "1000",
        **DELTA_CONFS,
        **QUIET_CONFS,
        **settings.catalog.spark_confs(),
    }
    if settings.is_local:
        confs |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.local.dir": str(scratch_folder(settings.home)),
            "spark.databricks.delta.snapshotPartitions": "2",
            "spark.sql.shuffle.partitions": str(max(2, settings.cores)),
            "spark.sql.sources.parallelPartitionDiscovery.parallelism": str(max(2, settings.cores)),
        }
    elif jars:
        confs["spark.jars"] = ",".join(str(jar) for jar in jars)
    if jars:
        confs["spark.driver.extraClassPath"] = ":".join(str(jar) for jar in jars)
    confs |= settings.confs
    quoted = " ".join(f'"{option}"' if " " in option else option for option in options)
    given = settings.confs.get("spark.driver.extraJavaOptions", "")
    confs["spark.driver.extraJavaOptions"] = f"{quoted} {given}".strip()
    return confs


def worker_python(settings: SessionSettings) -> str:
    """On this machine workers run dbt's own Python, with its packages, whatever PATH finds first."""
    named = settings.confs.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON")
    return named or (sys.executable if settings.is_local else "python3")


def _garbage_collector(settings: SessionSettings) -> list[str]:
    """Serial collection starts quicker and, on few cores and a small heap, is not slower."""
    if (
        "spark.driver.extraJavaOptions" in settings.confs
        and "GC" in settings.confs["spark.driver.extraJavaOptions"]
    ):
        return []
    return ["-XX:+UseSerialGC"] if settings.favours_start else ["-XX:+UseParallelGC"]


def _shut_down_derby(base: Any) -> None:
    """Lets go of the database at once: the JVM may live a little longer to write its archive."""
    with contextlib.suppress(Exception):  # Derby answers a shutdown with an SQLException
        base._jvm.java.sql.DriverManager.getConnection("jdbc:derby:;shutdown=true")
