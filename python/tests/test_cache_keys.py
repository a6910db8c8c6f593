"""When an artifact is reused: many processes compile once, and whatever the result depends on makes another entry."""
import json
import os
import shutil

import pytest

import intent
import programs
from compilation import build_directory
from intent import native
from test_cache_limit import many

SCALE = 'x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]', "y[:] = 2.0 * x[:]"


@pytest.fixture
def compilations(monkeypatch, tmp_path):
    """A function that gives how many compilations ran since it was last asked, in this and in forked processes."""
    log, compile_request = tmp_path / "compilations", native.compile_request

    def logged(*arguments):
        with open(log, "ab") as file:
            file.write(b"x")
        return compile_request(*arguments)

    monkeypatch.setattr(native, "compile_request", logged)

    def count():
        found = log.stat().st_size if log.exists() else 0
        log.write_bytes(b"")
        return found

    return count


def test_sixteen_processes_compile_once(compilations):
    def body(_):
        program = intent.generate(programs.define(KERNEL, "scale"), "triton:sm_90")
        assert "@triton.jit" in program.source

    many(16, body)
    assert compilations() == 1


KERNEL = """
@intent.kernel
def scale(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
    y[:] = 2.0 * x[:]
"""


@pytest.fixture
def tables(monkeypatch, tmp_path):
    """Copies of the default tables that the compiler reads instead of its own."""
    found = {}
    for provider, path in native.table_paths().items():
        found[provider] = str(shutil.copy(path, tmp_path / f"{provider}.json"))
    monkeypatch.setattr(native, "table_paths", lambda: dict(found))
    return found


def generate(k, target="triton:sm_90", **arguments):
    return intent.generate(k, target, **arguments).metadata


def test_changed_default_tables_take_effect_at_once(compilations, tables):
    k = programs.kernel(*SCALE)
    before = generate(k)
    generate(k)
    assert compilations() == 1
    with open(tables["triton"]) as file:
        table = json.load(file)
    table["triton"]["pointwise"] = [[1, 512, 64, 1, 128, 1, 8, 2, 1, 1, 0]]
    with open(tables["triton"], "w") as file:
        json.dump(table, file)
    after = generate(k)
    assert compilations() == 1
    assert len(before["candidates"]) > 1 and [c["values"]["NUM_WARPS"] for c in after["candidates"]] == [2]


def test_a_compiled_kernel_notices_a_changed_table(compilations, tables):
    k = programs.kernel(*SCALE)
    first = intent.compile(k)
    assert intent.compile(k) is first and compilations() == 1
    with open(tables["host"], "a") as file:
        file.write("\n")
    assert intent.compile(k) is not first and compilations() == 1


def test_what_makes_another_entry(compilations, tables, tmp_path):
    k = programs.kernel(*SCALE)
    override = tmp_path / "rows.json"
    override.write_text('{"triton": {"pointwise": [[1, 256, 64, 1, 128, 1, 8, 2, 1, 1, 0]]}}')
    variations = [{}, {"target": "triton:sm_80"}, {"target": "triton:gfx942"}, {"target": intent.Target("triton", "sm_90", fragment_elements=4096)},
                  {"options": intent.CompileOptions(numerics="relaxed_normalization")}, {"options": intent.CompileOptions(online_reduction=False)},
                  {"tuning_config": override}]
    folders = [intent.generate(k, **{"target": "triton:sm_90", **v}).cache_directory for v in variations]
    assert len(set(folders)) == len(variations) == compilations()
    assert [intent.generate(k, **{"target": "triton:sm_90", **v}).cache_directory for v in variations] == folders and compilations() == 0
    override.write_text('{"triton": {"pointwise": [[1, 256, 64, 1, 128, 1, 8, 4, 1, 1, 0]]}}')
    changed = intent.generate(k, "triton:sm_90", tuning_config=override)
    assert compilations() == 1 and changed.cache_directory not in folders
    # Another file of the same content is the same override.
    (tmp_path / "copy.json").write_text(override.read_text())
    assert intent.generate(k, "triton:sm_90", tuning_config=tmp_path / "copy.json").cache_directory == changed.cache_directory and compilations() == 0


def test_another_compiler_binary_makes_another_entry(compilations, monkeypatch, tmp_path):
    k = programs.kernel(*SCALE)
    first = intent.generate(k, "host")
    (tmp_path / "lib").mkdir()
    copy = shutil.copy(build_directory() / "lib" / "libintent.so", tmp_path / "lib")
    monkeypatch.setenv("INTENT_LIBRARY_DIR", str(tmp_path / "lib"))
    monkeypatch.setattr(native, "compiler", lambda: other)
    other = native.CompilerLibrary()
    second = intent.generate(k, "host")
    assert compilations() == 2 and second.cache_directory != first.cache_directory and second.source == first.source
    os.utime(copy, ns=(1, 1))
    other = native.CompilerLibrary()
    assert intent.generate(k, "host").cache_directory not in (first.cache_directory, second.cache_directory)


def test_corrupt_bytes_are_rebuilt(compilations):
    k = programs.kernel(*SCALE)
    program = intent.generate(k, "triton:sm_90")
    compilations()
    for path in sorted(program.source_path.parent.iterdir()):
        good = path.read_bytes()
        for damaged in (good[:-1], good[:10] + bytes([good[10] ^ 1]) + good[11:], b"", b"\xff" * len(good)):
            path.write_bytes(damaged)
            again = intent.generate(k, "triton:sm_90")
            assert again.source == program.source and path.read_bytes() == good
            assert compilations() == 1
        path.unlink()
        assert intent.generate(k, "triton:sm_90").source == program.source and compilations() == 1 and path.read_bytes() == good


def test_a_failure_is_compiled_again(compilations):
    k = programs.kernel('x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]', "y[:] = undefined_name")
    for _ in range(2):
        with pytest.raises(intent.LanguageError):
            intent.generate(k, "triton:sm_90")
        assert compilations() == 1
