"""The only module that calls Delta's own classes in the JVM.

A conversion commits through Delta's transaction: Delta decides protocol, table defaults and commitInfo,
and its log store decides who wins when two writers want version 0. What is needed is looked up once; a
Spark without it (a server behind Thrift or Connect, another Delta) is an answer, not an error.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dbt.adapters.delta_maint.core.not_null import tightened


@dataclass(frozen=True)
class DraftTable:
    """A table that Delta has checked but nobody has written: nothing exists on disk for it."""

    log: Any
    transaction: Any
    schema: dict[str, Any]
    partition_columns: tuple[str, ...]
    configuration: dict[str, str]
    min_reader_version: int
    min_writer_version: int
    features: tuple[str, ...]


@dataclass(frozen=True)
class RewriteTransaction:
    """An open transaction of Delta's at one version; nothing exists on disk for it."""

    transaction: Any
    version: int
    table_id: str
    schema: dict[str, Any]
    partition_columns: tuple[str, ...]
    configuration: dict[str, str]
    protocol: dict[str, Any]


@dataclass(frozen=True)
class CommittedTable:
    version: int
    files: int
    schema: dict[str, Any]


class JvmDelta:
    def __init__(self, spark: Any) -> None:
        self.spark = spark
        self.session = spark._jsparkSession
        self.jvm = spark._jvm
        self._delta = self.jvm.org.apache.spark.sql.delta
        self._none = self.jvm.scala.Option.empty()

    @classmethod
    def probe(cls, spark: Any) -> JvmDelta | str:
        """The calls, or one sentence about what is missing."""
        if getattr(spark, "_jsparkSession", None) is None:
            return "this connection has no Java virtual machine of its own (Spark Connect)"
        try:
            found = cls(spark)
            loader = found.jvm.java.lang.Thread.currentThread().getContextClassLoader()
            for name in (
                "org.apache.spark.sql.delta.DeltaLog",
                "org.apache.spark.sql.delta.DeltaOperations$Convert",
                "org.apache.spark.sql.delta.commands.convert.ManualListingFileManifest",
            ):
                loader.loadClass(name)
            transaction = loader.loadClass("org.apache.spark.sql.delta.OptimisticTransaction")
            arity = {
                (method.getName(), method.getParameterCount())
                for method in transaction.getMethods()
            }
        except Exception as exc:  # py4j raises several kinds for a class that is not there
            return f"Delta's classes are not in this Spark ({type(exc).__name__})"
        needed = {("commitLarge", 6), ("updateMetadataForNewTable", 1), ("protocol", 0)}
        if not needed <= arity:
            missing = ", ".join(sorted(name for name, _ in needed - arity))
            return f"this Delta has no {missing} as Delta 4.4 has it"
        return found

    def log_version(self, path: str) -> int:
        """The newest version at a path; -1 when there is no table."""
        with self._active():
            log = self._delta.DeltaLog.forTable(self.session, path)
            return int(log.update(False, self._none, self._none).version())

    def identify(self, name: str) -> tuple[str, str] | None:
        """Location and id of a Delta table by its SQL name, as DESCRIBE DETAIL says them, without a job.

        None where that cannot be said so quickly: DESCRIBE knows every case, and has the errors.
        """
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        logs = self._delta.DeltaLog
        with self._active():
            try:
                parsed = self.session.sessionState().sqlParser().parseTableIdentifier(name)
                found = self._delta.DeltaTableIdentifier.apply(self.session, parsed)
                if found.isEmpty():
                    return None
                path = found.get().path()
                log = logs.forTable(self.session, path.get() if path.isDefined() else parsed)
                snapshot = log.update(False, self._none, self._none)
                if snapshot.version() < 0:
                    return None
                return str(log.dataPath().toString()), str(snapshot.metadata().id())
            except (Py4JError, PySparkException, TypeError):  # py4j's word for a missing class
                return None

    def draft(self, path: str, metadata_line: str, *, asked: dict[str, str]) -> DraftTable:
        """Hands a new table's metadata to Delta, which adds defaults, checks it and derives the protocol.

        `asked` are properties a person wrote: one that Delta does not know is an error.
        """
        with self._active():
            configs = getattr(getattr(self._delta, "DeltaConfigs$"), "MODULE$")
            configs.validateConfigurations(self._scala_map(asked))
            self._delta.DeltaLog.invalidateCache(self.session, self.hadoop_path(path))
            log = self._delta.DeltaLog.forTable(self.session, path)
            transaction = log.startTransaction(self._none, self._none)
            action = self._delta.actions.Action.fromJson(metadata_line)
            transaction.updateMetadataForNewTable(action)
            metadata = json.loads(transaction.metadata().json())["metaData"]
            protocol = json.loads(transaction.protocol().json())["protocol"]
        features = {*protocol.get("readerFeatures", []), *protocol.get("writerFeatures", [])}
        return DraftTable(
            log=log,
            transaction=transaction,
            schema=json.loads(metadata["schemaString"]),
            partition_columns=tuple(metadata.get("partitionColumns", [])),
            configuration=dict(metadata.get("configuration", {})),
            min_reader_version=protocol["minReaderVersion"],
            min_writer_version=protocol["minWriterVersion"],
            features=tuple(sorted(features)),
        )

    def commit(
        self,
        draft: DraftTable,
        actions_file: str,
        *,
        files: int,
        partitioned_by: Sequence[str],
        collects_statistics: bool,
        catalog_table: str | None,
    ) -> int:
        """Version 0: commit, commitInfo as the native command writes it, checkpoint. All or nothing."""
        operation = getattr(self._delta, "DeltaOperations$Convert")(
            files,
            self._scala_sequence(partitioned_by),
            collects_statistics,
            self.jvm.scala.Some(catalog_table) if catalog_table else self._none,
            self.jvm.scala.Some("parquet"),
        )
        with self._active(), self._action_lines(actions_file) as actions:
            draft.log.createLogDirectoriesIfNotExists()
            result = draft.transaction.commitLarge(
                self.session,
                actions,
                self.jvm.scala.Some(draft.transaction.protocol()),
                operation,
                self._scala_map({}),
                self._scala_map({"numConvertedFiles": str(files)}),
            )
        return int(result._1())

    def tighten(self, path: str, checks: dict[str, str]) -> int | None:
        """Columns that a CHECK keeps from being NULL become NOT NULL, in one commit of metadata.

        Read and written in one transaction: a table replaced meanwhile no longer has the CHECK and is left
        alone, and Delta lets the commit fail when somebody else changes the metadata first.
        """
        with self._active():
            log = self._delta.DeltaLog.forTable(self.session, path)
            transaction = log.startTransaction(self._none, self._none)
            before = transaction.metadata()
            metadata = tightened(json.loads(before.json())["metaData"], checks)
            if metadata is None:
                return None
            after = self._delta.actions.Action.fromJson(json.dumps({"metaData": metadata}))
            transaction.updateMetadata(after, False)
            operation = getattr(self._delta, "DeltaOperations$UpdateSchema")(
                before.schema(), after.schema()
            )
            return int(transaction.commit(self._scala_sequence([]), operation))

    def committed(self, path: str) -> CommittedTable:
        """The table as Delta reads it back; the count is its own, from the checkpoint it replayed."""
        with self._active():
            log = self._delta.DeltaLog.forTable(self.session, path)
            snapshot = log.update(False, self._none, self._none)
            checkpoint = log.readLastCheckpointFile()
            counted = checkpoint.get().numOfAddFiles() if checkpoint.isDefined() else self._none
            files = counted.get() if counted.isDefined() else snapshot.numOfFiles()
            return CommittedTable(
                version=int(snapshot.version()),
                files=int(files),
                schema=json.loads(snapshot.metadata().schemaString()),
            )

    def open_rewrite(self, path: str) -> RewriteTransaction:
        """A transaction at the newest version; what it commits meets every commit made after that."""
        with self._active():
            log = self._delta.DeltaLog.forTable(self.session, path)
            transaction = log.startTransaction(self._none, self._none)
            snapshot = transaction.snapshot()
            metadata = json.loads(transaction.metadata().json())["metaData"]
            protocol = json.loads(transaction.protocol().json())["protocol"]
        return RewriteTransaction(
            transaction=transaction,
            version=int(snapshot.version()),
            table_id=str(metadata["id"]),
            schema=json.loads(metadata["schemaString"]),
            partition_columns=tuple(metadata.get("partitionColumns", [])),
            configuration=dict(metadata.get("configuration", {})),
            protocol=protocol,
        )

    def live_files(self, rewrite: RewriteTransaction) -> Any:
        """The files of the transaction's snapshot as a DataFrame of add actions."""
        from pyspark.sql import DataFrame

        with self._active():
            return DataFrame(rewrite.transaction.snapshot().allFiles().toDF(), self.spark)

    def counted_files(self, rewrite: RewriteTransaction) -> tuple[int, int] | None:
        """Files and bytes of the transaction's snapshot by Delta's checksum; None where it wrote none."""
        found = rewrite.transaction.snapshot().checksumOpt()
        if found.isEmpty():
            return None
        checksum = found.get()
        return int(checksum.numFiles()), int(checksum.tableSizeBytes())

    def commit_rewrite(
        self,
        rewrite: RewriteTransaction,
        actions_file: str,
        *,
        predicate: str | None,
        metrics: dict[str, int],
    ) -> int:
        """Adds and removes as one OPTIMIZE; Delta refuses it if a removed file is gone meanwhile."""
        parser = self.session.sessionState().sqlParser()
        predicates = self.jvm.java.util.ArrayList()
        if predicate is not None:
            predicates.add(parser.parseExpression(predicate))
        operation = getattr(self._delta, "DeltaOperations$Optimize")(
            self.jvm.scala.jdk.javaapi.CollectionConverters.asScala(predicates).toSeq(),
            self._scala_sequence(()),
            False,
            self._none,
            False,
        )
        with self._active(), self._action_lines(actions_file) as actions:
            sequence = actions.toVector()
            rewrite.transaction.registerSQLMetrics(self.session, self._sql_metrics(metrics))
            return int(rewrite.transaction.commit(sequence, operation))

    def _sql_metrics(self, values: dict[str, int]) -> Any:
        create = self.jvm.org.apache.spark.sql.execution.metric.SQLMetrics.createMetric
        context = self.session.sparkContext()
        found = self._scala_map({})
        for name, value in values.items():
            metric = create(context, name)
            metric.set(value)
            found = found.updated(name, metric)
        return found

    def forget(self, path: str) -> None:
        """Drops what Delta has cached about a path."""
        self._delta.DeltaLog.invalidateCache(self.session, self.hadoop_path(path))

    def list_tree(self, path: str) -> Any:
        """Every file below a path by Delta's own rules, listed by the executors; an Arrow table."""
        from pyspark.sql import DataFrame

        conf = self.jvm.org.apache.spark.util.SerializableConfiguration(
            self.session.sessionState().newHadoopConf()
        )
        convert = self._delta.commands.convert
        manifest = convert.ManualListingFileManifest(
            self.session,
            path,
            self.jvm.org.apache.spark.sql.types.StructType(),
            convert.ParquetSchemaFetchConfig(False),
            conf,
        )
        try:
            with self._active():
                frame = DataFrame(manifest.doList().toDF(), self.spark)
                return frame.select("path", "length", "modificationTime").toArrow()
        finally:
            manifest.close()

    def hadoop_path(self, path: str) -> Any:
        return self.jvm.org.apache.hadoop.fs.Path(path)

    @contextmanager
    def _active(self) -> Iterator[None]:
        """Delta asks for the active session of the thread: it must be ours, and only for now."""
        sessions = self.jvm.org.apache.spark.sql.classic.SparkSession
        before = sessions.getActiveSession()
        sessions.setActiveSession(self.session)
        try:
            yield
        finally:
            if before.isDefined():
                sessions.setActiveSession(before.get())
            else:
                sessions.clearActiveSession()

    @contextmanager
    def _action_lines(self, actions_file: str) -> Iterator[Any]:
        """A Scala iterator over the actions of a file, parsed in the JVM: no call per line."""
        jvm = self.jvm
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        action = loader.loadClass("org.apache.spark.sql.delta.actions.Action")
        text = jvm.java.lang.Class.forName("java.lang.String")
        argument = jvm.java.lang.reflect.Array.newInstance(
            jvm.java.lang.Class.forName("java.lang.Class"), 1
        )
        argument[0] = text
        handles = jvm.java.lang.invoke
        parse = handles.MethodHandles.publicLookup().unreflect(
            action.getMethod("fromJson", argument)
        )
        function = handles.MethodHandleProxies.asInterfaceInstance(
            jvm.java.lang.Class.forName("java.util.function.Function"), parse
        )
        no_more = jvm.java.lang.reflect.Array.newInstance(text, 0)
        lines = jvm.java.nio.file.Files.lines(jvm.java.nio.file.Paths.get(actions_file, no_more))
        try:
            yield jvm.scala.jdk.javaapi.CollectionConverters.asScala(lines.map(function).iterator())
        finally:
            lines.close()

    def _scala_sequence(self, items: Sequence[str]) -> Any:
        values = self.jvm.java.util.ArrayList()
        for item in items:
            values.add(item)
        return self.jvm.scala.jdk.javaapi.CollectionConverters.asScala(values).toSeq()

    def _scala_map(self, pairs: dict[str, str]) -> Any:
        companion = getattr(self.jvm.scala.collection.immutable, "Map$")
        found = getattr(companion, "MODULE$").empty()
        for key, value in pairs.items():
            found = found.updated(key, value)
        return found
