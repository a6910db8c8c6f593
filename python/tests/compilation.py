"""The compiler library as it is: request bytes in, status and fields out, with nothing in between."""
import ctypes
import json
import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
FIELDS = ("kir", "mlir", "source", "metadata", "diagnostics", "failed_input")
SUCCESS, LANGUAGE, CONFIGURATION, TARGET, INTERNAL = range(5)
TRITON = {"provider": "triton", "arch": "sm_90", "features": {}}
HOST = {"provider": "host", "arch": "native", "features": {}}


def build_directory() -> Path:
    """The build tree under test: that of INTENT_LIBRARY_DIR, else the first of build/ and build/dev that has the library."""
    named = os.environ.get("INTENT_LIBRARY_DIR")
    for directory in [Path(named).parent] if named else [REPOSITORY / "build", REPOSITORY / "build" / "dev"]:
        if (directory / "lib" / "libintent.so").is_file():
            return directory
    pytest.skip("libintent.so is not built")


def library():
    path = build_directory() / "lib" / "libintent.so"
    library = ctypes.CDLL(str(path))
    library.intent_build_info.restype = ctypes.c_char_p
    library.intent_compile.argtypes, library.intent_compile.restype = [ctypes.c_char_p, ctypes.c_size_t], ctypes.c_void_p
    library.intent_result_status.argtypes, library.intent_result_status.restype = [ctypes.c_void_p], ctypes.c_int32
    library.intent_result_field.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_size_t)]
    library.intent_result_field.restype = ctypes.c_void_p
    library.intent_result_destroy.argtypes, library.intent_result_destroy.restype = [ctypes.c_void_p], None
    return library


def compile_bytes(data: bytes, extra_fields=()):
    """(status, {field: text}) of raw request bytes; `diagnostics` is decoded."""
    lib = library()
    result = lib.intent_compile(data, len(data))
    try:
        fields = {}
        for name in (*FIELDS, *extra_fields):
            size = ctypes.c_size_t()
            address = lib.intent_result_field(result, name.encode(), ctypes.byref(size))
            if address:
                fields[name] = ctypes.string_at(address, size.value).decode()
        fields["diagnostics"] = json.loads(fields["diagnostics"])
        return lib.intent_result_status(result), fields
    finally:
        lib.intent_result_destroy(result)


def compile_request(emit="block", text=None, target=TRITON, extra_fields=(), **fields):
    return compile_bytes(json.dumps({"schema": 1, "emit": emit, "text": text, "target": target, **fields}).encode(), extra_fields)


def messages(fields):
    return [entry["message"] for entry in fields["diagnostics"]]


def kernel_text(name="softmax"):
    return (REPOSITORY / "test" / "Dialect" / "Kir" / f"{name}.mlir").read_text()
