"""Intent: one kernel language, compiled for every target."""
from intent.capture import fn, kernel
from intent.errors import (CallError, ConfigurationError, IntentError, InternalError, LanguageError, ProviderError,
                           TargetError)

__all__ = ["kernel", "fn", "IntentError", "LanguageError", "ConfigurationError", "TargetError", "CallError", "ProviderError",
           "InternalError"]
