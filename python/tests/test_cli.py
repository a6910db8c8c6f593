"""The command line, on stand-ins for both libraries: what it prints, and one message for what is wrong."""
import json

import pytest

from fake_native import FakeCompiler, FakeHost, metadata, scalar, view
from intent import cli, native

INTERFACE = metadata(view("x", "f32", ("M", "N")), view("y", "f32", ("M", "N"), "out"), scalar("a", "f32"))

KERNELS = """
import intent
import intent.language as I

class Kind(I.Enum):
    A = 0
    B = 1

@intent.kernel
def affine(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M", "N")], a: I.f32, K: I.Constexpr[int] = 1, KIND: I.Constexpr[Kind] = Kind.A):
    y[:, :] = 2.0 * x[:, :] + a

@intent.kernel
def other(x: I.InOut[I.f32, ("M",)]):
    x[:] = 0.0
"""


@pytest.fixture
def fake(monkeypatch):
    compiler = FakeCompiler(INTERFACE)
    compiler.path = "/somewhere/libintent.so"
    monkeypatch.setattr(native, "compiler", lambda: compiler)
    monkeypatch.setattr(native, "host_library", lambda: FakeHost([2, 2, None]))
    monkeypatch.setattr(native, "table_paths", lambda: {})
    return compiler


@pytest.fixture
def kernels(tmp_path):
    path = tmp_path / "cli_kernels.py"
    path.write_text(KERNELS)
    return str(path)


def test_run(fake, kernels, capsys):
    command = ["run", f"{kernels}:affine", "--shape", "M=128", "--shape", "N=300", "--scalar", "a=2", "--constexpr", "K=3", "--constexpr", "KIND=B"]
    assert cli.main(command) == 0
    first = capsys.readouterr().out
    assert "affine on host" in first and "(128, 300)" in first and "sha256" in first and "median" in first
    assert fake.requests[-1]["constexprs"] == {"K": {"int": "3"}, "KIND": {"enum": {"type": "Kind", "member": "B"}}}
    assert cli.main(command) == 0
    digest = [line for line in first.splitlines() if "sha256" in line]
    assert digest == [line for line in capsys.readouterr().out.splitlines() if "sha256" in line]


@pytest.mark.parametrize("emit, text", [("source", "// source\n"), ("kir", "// kir\n"), ("block", "// block\n")])
def test_generate(fake, kernels, capsys, emit, text):
    assert cli.main(["generate", f"{kernels}:affine", "--target", "triton:sm_90", "--emit", emit]) == 0
    assert capsys.readouterr().out == text


def test_generate_metadata_request_and_files(fake, kernels, capsys, tmp_path):
    assert cli.main(["generate", f"{kernels}:affine", "--emit=metadata"]) == 0
    assert json.loads(capsys.readouterr().out)["params"][2]["name"] == "a"
    assert cli.main(["generate", f"{kernels}:affine", "--target=triton:sm_90", "--emit=request", "-o", str(tmp_path / "r.json")]) == 0
    request = json.loads((tmp_path / "r.json").read_text())
    assert request["schema"] == 1 and request["emit"] == "source" and request["target"]["arch"] == "sm_90" and request["nodes"]
    assert cli.main(["generate", f"{kernels}:affine", "--save", str(tmp_path / "saved")]) == 0
    assert (tmp_path / "saved" / "manifest.json").exists()


@pytest.mark.parametrize("arguments, message", [
    (["run", "nowhere.py:k"], "no such file"), (["run", "{k}:missing"], "no kernel is named 'missing'; the kernels there: affine, other"), (["run", "{k}"], "name one kernel"),
    (["run", "{k}:affine", "--shape", "M=1"], "--shape N=..."), (["run", "{k}:affine", "--shape", "M=x"], "expected an int"), (["run", "{k}:affine", "--shape", "Q=1"], "no extent is named 'Q'"),
    (["run", "{k}:affine", "--shape", "M"], "NAME=VALUE"), (["run", "{k}:affine", "--shape", "M=-1", "--shape", "N=1"], "argument 'x'"), (["run", "{k}:affine", "--scalar", "b=1"], "named 'b'"),
    (["run", "{k}:affine", "--shape", "M=1", "--shape", "N=1", "--scalar", "a=true"], "f32 scalar"), (["run", "{k}:affine", "--constexpr", "K=?"], "expected JSON"), (["run", "{k}:affine", "--constexpr", "KIND=C"], "no member of Kind"),
    (["generate", "{k}:affine", "--target", "cuda"], "unknown provider"), (["generate", "{k}:affine", "--tuning-config", "nowhere.json"], "cannot be read"),
    (["generate", "{k}:affine", "-o", "/nowhere/f"], "cannot be written")])
def test_wrong_arguments(fake, kernels, capsys, arguments, message):
    assert cli.main([a.replace("{k}", kernels) for a in arguments]) == 1
    assert message in capsys.readouterr().err


def test_wrong_command_line(capsys):
    for arguments in ([], ["frobnicate"], ["generate", "k.py", "--emit=elf"]):
        with pytest.raises(SystemExit) as caught:
            cli.main(arguments)
        assert caught.value.code == 2


def test_file_that_raises(fake, tmp_path, capsys):
    (tmp_path / "broken.py").write_text("x = 1\nraise ValueError('mine')\n")
    assert cli.main(["run", str(tmp_path / "broken.py:k")]) == 1
    error = capsys.readouterr().err
    assert "ValueError: mine" in error and "line 2" in error and "importlib" not in error


def test_doctor(fake, capsys, own_cache, monkeypatch):
    assert cli.main(["doctor", "--no-devices"]) == 0
    out = capsys.readouterr().out
    assert str(own_cache) in out and "libintent.so" in out and "triton:sm_90" in out

    def missing():
        raise native.errors.ConfigurationError("libintent.so was not found")

    monkeypatch.setattr(native, "compiler", missing)
    assert cli.main(["doctor", "--no-devices"]) == 1
    assert "missing" in capsys.readouterr().out
