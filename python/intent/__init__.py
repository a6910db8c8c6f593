"""Intent: write a tensor algorithm once; compile it for Triton, cuTile, BANG C, or run it on this machine's CPU.

    import intent
    import intent.language as I
"""
from .artifacts import CompiledIR, GeneratedProgram
from .capture import fn, kernel
from .compiler import compile, compile_ir, compile_shared_gpu, explain, generate, generate_from_ir, optimize_ir
from .errors import CallError, ConfigurationError, IntentError, InternalError, LanguageError, ProviderError, TargetError
from .reference import Interpreted, interpret
from .requests import CompileOptions
from .runtime.kernel import CompiledKernel, PreparedCall
from .targets import Target

__version__ = "0.1.0"

__all__ = [
    "CallError", "CompileOptions", "CompiledIR", "CompiledKernel", "ConfigurationError", "GeneratedProgram", "IntentError",
    "InternalError", "Interpreted", "LanguageError", "PreparedCall", "ProviderError", "Target", "TargetError", "compile", "compile_ir",
    "compile_shared_gpu", "explain", "fn", "generate", "generate_from_ir", "interpret", "kernel", "optimize_ir",
]
