"""Where Spark, Ivy, Derby and py4j write: one file, never dbt's console."""

from __future__ import annotations

import logging
from pathlib import Path

_LOG4J = """\
status = error
appenders = file
rootLogger.level = warn
rootLogger.appenderRefs = file
rootLogger.appenderRef.file.ref = file
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {log_file}
appender.file.filePattern = {log_file}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss.SSS}} %p %c{{1}}: %m%n%ex
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 10MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 3
logger.hive.name = org.apache.hadoop.hive
logger.hive.level = error
logger.datanucleus.name = DataNucleus
logger.datanucleus.level = error
"""


def write_log4j_file(folder: Path, log_file: Path) -> Path:
    """The log4j settings next to the log they speak of."""
    path = folder / "log4j2.properties"
    text = _LOG4J.format(log_file=str(log_file).replace("\\", "/"))
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
    return path


def quiet_python_loggers() -> None:
    """pyspark logs failed statements as JSON with the Java stack, and py4j logs every lost socket."""
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "py4j"):
        logger = logging.getLogger(name)
        logger.setLevel(logging.CRITICAL + 1)
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
