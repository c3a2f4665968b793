"""The eight calls of HiveServer2's protocol that a dbt connection needs, over Apache Thrift's own runtime.

Written out here because the packages that bring them bring much else: PyHive is no longer maintained and
its extras no longer resolve, impyla keeps them private. Field numbers and types are those of Hive's
`TCLIService.thrift`, protocol version 8, whose rows come in columns.
"""

from __future__ import annotations

import itertools
import re
import threading
from typing import Any

from thrift.protocol.TBase import TBase
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TApplicationException, TMessageType, TType

VERSION = 7  # counted from zero: the eighth
NEXT_ROWS = 0
SUCCESS = (0, 1, 2)
INVALID_HANDLE = 4
_INVALID_HANDLE = re.compile("Invalid (Session|Operation)Handle")


class TypeId:
    FLOAT = 5
    TIMESTAMP = 8
    BINARY = 9
    ARRAY = 10
    MAP = 11
    STRUCT = 12
    DECIMAL = 15
    DATE = 17


class State:
    FINISHED = 2
    CANCELED = 3
    CLOSED = 4
    ERROR = 5
    TIMED_OUT = 8
    ENDED = (FINISHED, CANCELED, CLOSED, ERROR, TIMED_OUT)


Field = tuple[int, int, str, Any]


def _struct(name: str, *fields: Field) -> Any:
    spec: list[Any] = [None] * (max(field[0] for field in fields) + 1)
    for number, kind, label, inside in fields:
        spec[number] = (number, kind, label, inside, None)
    names = tuple(field[2] for field in fields)

    def begin(self: Any, **values: Any) -> None:
        for label in names:
            setattr(self, label, values.get(label))

    members = {"__slots__": names, "thrift_spec": tuple(spec), "__init__": begin}
    return type(name, (TBase,), members)


def _i32(number: int, name: str) -> Field:
    return number, TType.I32, name, None


def _i64(number: int, name: str) -> Field:
    return number, TType.I64, name, None


def _bool(number: int, name: str) -> Field:
    return number, TType.BOOL, name, None


def _text(number: int, name: str) -> Field:
    return number, TType.STRING, name, "UTF8"


def _bytes(number: int, name: str) -> Field:
    return number, TType.STRING, name, "BINARY"


def _inner(number: int, name: str, kind: Any) -> Field:
    return number, TType.STRUCT, name, [kind, kind.thrift_spec]


def _list(number: int, name: str, kind: int, inside: Any) -> Field:
    return number, TType.LIST, name, (kind, inside, False)


def _structs(number: int, name: str, kind: Any) -> Field:
    return _list(number, name, TType.STRUCT, [kind, kind.thrift_spec])


def _texts(number: int, name: str) -> Field:
    return number, TType.MAP, name, (TType.STRING, "UTF8", TType.STRING, "UTF8", False)


def _column(name: str, kind: int, inside: Any = None) -> Any:
    return _struct(name, _list(1, "values", kind, inside), _bytes(2, "nulls"))


_Identifier = _struct("THandleIdentifier", _bytes(1, "guid"), _bytes(2, "secret"))
_Session = _struct("TSessionHandle", _inner(1, "sessionId", _Identifier))
_Operation = _struct(
    "TOperationHandle",
    _inner(1, "operationId", _Identifier),
    _i32(2, "operationType"),
    _bool(3, "hasResultSet"),
    (4, TType.DOUBLE, "modifiedRowCount", None),
)
_Status = _struct(
    "TStatus",
    _i32(1, "statusCode"),
    _list(2, "infoMessages", TType.STRING, "UTF8"),
    _text(3, "sqlState"),
    _i32(4, "errorCode"),
    _text(5, "errorMessage"),
)
_TypeEntry = _struct(
    "TTypeEntry", _inner(1, "primitiveEntry", _struct("TPrimitiveTypeEntry", _i32(1, "type")))
)
_TypeDesc = _struct("TTypeDesc", _structs(1, "types", _TypeEntry))
_ColumnDesc = _struct("TColumnDesc", _text(1, "columnName"), _inner(2, "typeDesc", _TypeDesc))
_Schema = _struct("TTableSchema", _structs(1, "columns", _ColumnDesc))
_COLUMNS = {
    "boolVal": _column("TBoolColumn", TType.BOOL),
    "byteVal": _column("TByteColumn", TType.BYTE),
    "i16Val": _column("TI16Column", TType.I16),
    "i32Val": _column("TI32Column", TType.I32),
    "i64Val": _column("TI64Column", TType.I64),
    "doubleVal": _column("TDoubleColumn", TType.DOUBLE),
    "stringVal": _column("TStringColumn", TType.STRING, "UTF8"),
    "binaryVal": _column("TBinaryColumn", TType.STRING, "BINARY"),
}
_Column = _struct(
    "TColumn",
    *(_inner(number, name, kind) for number, (name, kind) in enumerate(_COLUMNS.items(), 1)),
)
_RowSet = _struct("TRowSet", _i64(1, "startRowOffset"), _structs(3, "columns", _Column))

_OF_SESSION = (_inner(1, "sessionHandle", _Session),)
_OF_OPERATION = (_inner(1, "operationHandle", _Operation),)
_STATUS = (_inner(1, "status", _Status),)
_CALLS: dict[str, tuple[tuple[Field, ...], tuple[Field, ...]]] = {
    "OpenSession": (
        (
            _i32(1, "client_protocol"),
            _text(2, "username"),
            _text(3, "password"),
            _texts(4, "configuration"),
        ),
        (*_STATUS, _i32(2, "serverProtocolVersion"), _inner(3, "sessionHandle", _Session)),
    ),
    "CloseSession": (_OF_SESSION, _STATUS),
    "ExecuteStatement": (
        (*_OF_SESSION, _text(2, "statement"), _bool(4, "runAsync"), _i64(5, "queryTimeout")),
        (*_STATUS, _inner(2, "operationHandle", _Operation)),
    ),
    "GetOperationStatus": (
        _OF_OPERATION,
        (
            *_STATUS,
            _i32(2, "operationState"),
            _text(3, "sqlState"),
            _i32(4, "errorCode"),
            _text(5, "errorMessage"),
            _bool(9, "hasResultSet"),
        ),
    ),
    "CancelOperation": (_OF_OPERATION, _STATUS),
    "CloseOperation": (_OF_OPERATION, _STATUS),
    "GetResultSetMetadata": (_OF_OPERATION, (*_STATUS, _inner(2, "schema", _Schema))),
    "FetchResults": (
        (*_OF_OPERATION, _i32(2, "orientation"), _i64(3, "maxRows")),
        (*_STATUS, _bool(2, "hasMoreRows"), _inner(3, "results", _RowSet)),
    ),
}


def _messages(
    name: str, request: tuple[Field, ...], response: tuple[Field, ...]
) -> tuple[Any, ...]:
    asked = _struct(f"T{name}Req", *request)
    answered = _struct(f"T{name}Resp", *response)
    return (
        asked,
        _struct(f"{name}_args", _inner(1, "req", asked)),
        _struct(f"{name}_result", _inner(0, "success", answered)),
    )


_MESSAGES = {name: _messages(name, *fields) for name, fields in _CALLS.items()}


class ServerError(Exception):
    """What the server says about a call; `text` with its Java stack, where it sends one."""

    def __init__(self, text: str, *, is_invalid_handle: bool = False) -> None:
        super().__init__(text.split("\n", 1)[0])
        self.text = text
        self.is_invalid_handle = is_invalid_handle


class HiveCalls:
    """Calls over one transport, one at a time: threads that share it wait for each other."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._protocol = TBinaryProtocolAccelerated(transport, fallback=True)
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def close(self) -> None:
        self._transport.close()

    def call(self, name: str, **fields: Any) -> Any:
        asked, arguments, results = _MESSAGES[name]
        protocol = self._protocol
        with self._lock:
            try:
                protocol.writeMessageBegin(name, TMessageType.CALL, next(self._numbers))
                arguments(req=asked(**fields)).write(protocol)
                protocol.writeMessageEnd()
                self._transport.flush()
                _, kind, _ = protocol.readMessageBegin()
                result = results() if kind != TMessageType.EXCEPTION else TApplicationException()
                result.read(protocol)
                protocol.readMessageEnd()
            except BaseException:
                # Half a message is in the wire: nobody could read what comes after it.
                self._transport.close()
                raise
        if isinstance(result, TApplicationException):
            raise ServerError(str(result.message or result))
        answer = result.success
        if answer is None:
            raise ServerError(f"The server answered {name} with nothing.")
        status = answer.status
        if status is not None and status.statusCode not in SUCCESS:
            told = "\n".join(status.infoMessages or ())
            text = status.errorMessage or told or f"{name} failed with status {status.statusCode}."
            is_invalid = (
                status.statusCode == INVALID_HANDLE or _INVALID_HANDLE.search(text) is not None
            )
            raise ServerError(text, is_invalid_handle=is_invalid)
        return answer
