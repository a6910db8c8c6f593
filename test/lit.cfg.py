"""lit configuration: tools of this build and FileCheck of the LLVM it was built with.

`lit test/ --param build=build/dev` tests another build folder than build/.
"""
import os

import lit.formats

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
build = os.path.join(root, lit_config.params.get("build", "build"))
llvm_tools = lit_config.params.get("llvm_tools", "/usr/lib/llvm-22/bin")

config.name = "intent"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.join(root, "test")
config.test_exec_root = os.path.join(build, "test")

for tool in (os.path.join(build, "bin", "intent-opt"), os.path.join(llvm_tools, "FileCheck")):
    if not os.access(tool, os.X_OK):
        lit_config.fatal(f"{tool} is missing: run `make build`")
config.environment["PATH"] = os.pathsep.join((os.path.join(build, "bin"), llvm_tools, config.environment["PATH"]))
config.environment["INTENT_CACHE_DIR"] = os.path.join(build, "test", "cache")
config.substitutions.append(("%tables", os.path.join(root, "lib", "Target")))
config.substitutions.append(("%python", os.path.join(root, ".venv", "bin", "python")))
