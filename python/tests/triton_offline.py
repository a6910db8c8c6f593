"""Compiles generated modules with the Triton of a given folder, with no GPU: `python triton_offline.py FOLDER JSON`.

The JSON names files and calls: `[{"name", "source", "arch", "values": [shape or number, ...], "row"}]`. One line a failure; the last line
counts what was compiled, with the version.
"""
import json
import sys


def main(folder, jobs):
    sys.path.insert(0, folder)
    import triton

    assert triton.__file__.startswith(folder), triton.__file__
    from intent.providers.triton import compile_offline

    failures = 0
    for job in jobs:
        try:
            compiled = compile_offline(job["source"], job["arch"], [tuple(v) if isinstance(v, list) else v for v in job["values"]], job["row"])
            assert compiled.asm["amdgcn" if job["arch"].startswith("gfx") else "ptx"]
        except Exception as error:
            failures += 1
            print(f"{job['name']} for {job['arch']}, row {job['row']}: {type(error).__name__}: {str(error)[:600]}")
    print(f"{len(jobs) - failures} of {len(jobs)} compiled with {triton.__version__}")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], json.load(open(sys.argv[2]))))
