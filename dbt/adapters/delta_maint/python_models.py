"""Runs a Python model in the connection's own session.

The model's result becomes a temporary view of that session and nothing else: from there a Python model
takes the same SQL path as a SQL model. A traceback points to the user's file and line.
"""

from __future__ import annotations

import ast
import linecache
import traceback
import types
import warnings
from pathlib import Path
from typing import Any

from dbt.adapters.base import PythonJobHelper
from dbt.adapters.delta_maint.core.errors import PythonModelError
from dbt.adapters.delta_maint.lake.arrow_frame import frame_of_arrow
from dbt.adapters.delta_maint.lake.spark_errors import java_exception, telling_sentence
from dbt.adapters.delta_maint.lake.sql_runner import has_driver

RESULT = "dbt_delta_maint_result"
VIEW = "dbt_delta_maint_view"


class SessionPythonJob(PythonJobHelper):
    def __init__(self, parsed_model: dict[str, Any], credential: Any, spark: Any = None) -> None:
        self._model = parsed_model
        self._spark = spark

    def submit(self, compiled_code: str) -> None:
        module = self._run(compiled_code)
        frame = as_spark_frame(self._spark, getattr(module, RESULT), model=self._model["name"])
        try:
            frame.createOrReplaceTempView(getattr(module, VIEW))
        except Exception as exc:
            # A remote frame is analysed here for the first time, lines after the fault.
            raise PythonModelError(
                f"Python model {self._model['name']} failed: {_describe(exc)}"
            ) from exc

    def _run(self, compiled_code: str) -> types.ModuleType:
        path = _original_path(self._model)
        # UDFs are pickled by value when their module is not importable, which this name is not.
        module = types.ModuleType("__main__")
        module.__dict__.update(
            spark=self._spark, load_relation=self._load, model_config=self._config()
        )
        self._make_active()
        try:
            tree = ast.parse(compiled_code, filename=path)
            offset = _line_of_user_code(compiled_code, _source_text(path, self._model))
            if offset:
                ast.increment_lineno(tree, -offset)
            if not Path(path).is_file():
                linecache.cache[path] = (
                    len(compiled_code),
                    None,
                    compiled_code.splitlines(True),
                    path,
                )
            exec(compile(tree, path, "exec"), module.__dict__)
        except ModuleNotFoundError as exc:
            raise PythonModelError(
                f"Python model {self._model['name']} needs the package {exc.name!r}, which is not "
                f"installed where dbt runs: `pip install {exc.name}`.\n{_user_traceback(exc, path)}"
            ) from exc
        except Exception as exc:
            raise PythonModelError(
                f"Python model {self._model['name']} failed: {_describe(exc)}\n"
                f"{_user_traceback(exc, path)}"
            ) from exc
        return module

    def _config(self) -> dict[str, Any]:
        """Every config that is set: dbt itself hands over only those it sees read in simple ways."""
        return {key: value for key, value in self._model["config"].items() if value is not None}

    def _load(self, relation: str) -> Any:
        """A relation, or the subquery that --empty and --sample put in its place."""
        if relation.lstrip().startswith("("):
            return self._spark.sql(f"select * from {relation}")
        return self._spark.table(relation)

    def _make_active(self) -> None:
        """pandas-on-Spark and `SparkSession.active` look for the session of the thread."""
        if not has_driver(self._spark):
            self._spark.make_active()
            return
        jvm = self._spark._jvm
        jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(self._spark._jsparkSession)


def as_spark_frame(spark: Any, result: Any, *, model: str) -> Any:
    """Spark, pandas, pandas-on-Spark and Arrow results as a DataFrame of this very session."""
    from pyspark.sql import DataFrame

    kind = type(result).__module__.split(".")[0]
    if isinstance(result, DataFrame):
        return _in_session(spark, result)
    if type(result).__module__.startswith("pyspark.pandas"):
        with warnings.catch_warnings():
            # The advice that the index is lost: a table has none.
            warnings.simplefilter("ignore")
            frame = result.to_frame().to_spark() if _is_series(result) else result.to_spark()
        return _in_session(spark, frame)
    if kind == "pyarrow":
        import pyarrow as pa

        if isinstance(result, pa.RecordBatch):
            result = pa.Table.from_batches([result])
        if isinstance(result, pa.Table):
            return frame_of_arrow(spark, result)
    if kind == "pandas" and type(result).__name__ == "DataFrame":
        named = _named_columns(result)
        if named.empty and not has_driver(spark):
            import pyarrow as pa

            return frame_of_arrow(spark, pa.Table.from_pandas(named, preserve_index=False))
        return spark.createDataFrame(named)
    raise PythonModelError(
        f"Python model {model} returned {type(result).__module__}.{type(result).__qualname__}: "
        "return a Spark, pandas or pandas-on-Spark DataFrame, or a pyarrow Table."
    )


def _in_session(spark: Any, frame: Any) -> Any:
    """pandas-on-Spark may have used the session of another thread; the plan is moved to ours."""
    from pyspark.sql import DataFrame

    if not has_driver(spark):
        if frame.sparkSession is not spark:
            raise PythonModelError(
                "A Python model returned a DataFrame of another Spark session: build it with the "
                "session that the model is given."
            )
        return frame
    if frame.sparkSession._jsparkSession.equals(spark._jsparkSession):
        return frame
    plan = frame._jdf.queryExecution().logical()
    moved = spark._jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, plan)
    return DataFrame(moved, spark)


def _is_series(result: Any) -> bool:
    return type(result).__name__ == "Series"


def _named_columns(frame: Any) -> Any:
    """pandas allows columns without a text name; Spark does not."""
    if all(isinstance(name, str) for name in frame.columns):
        return frame
    return frame.rename(columns=str)


def _original_path(model: dict[str, Any]) -> str:
    original = model.get("original_file_path") or f"{model['name']}.py"
    root = model.get("root_path")
    return str(Path(root) / original) if root else str(original)


def _source_text(path: str, model: dict[str, Any]) -> str:
    """The file as the user sees it: dbt's copy has lost the blank lines at its beginning."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return str(model.get("raw_code", ""))


def _line_of_user_code(compiled_code: str, source: str) -> int:
    """How far the compiled lines are behind the user's; negative when they are ahead."""
    first = next((line for line in source.splitlines() if line.strip()), None)
    if first is None:
        return 0
    blank_lines = source.splitlines().index(first)
    for number, line in enumerate(compiled_code.splitlines()):
        if line == first:
            return number - blank_lines
    return 0


def _describe(exc: BaseException) -> str:
    if java_exception(exc) is not None or type(exc).__module__.endswith("exceptions.connect"):
        return telling_sentence(exc)
    return f"{type(exc).__name__}: {exc}"


def _user_traceback(exc: BaseException, path: str) -> str:
    """The frames of the user's own file: dbt's and pyspark's say nothing about the fault."""
    frames = [frame for frame in traceback.extract_tb(exc.__traceback__) if frame.filename == path]
    if isinstance(exc, SyntaxError) and exc.filename == path:
        return f'  File "{path}", line {exc.lineno}\n    {(exc.text or "").strip()}'
    return "".join(traceback.format_list(frames)).rstrip()
