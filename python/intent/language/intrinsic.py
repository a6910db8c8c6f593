"""How a public name says what it is."""
import contextvars
import functools

from intent.errors import LanguageError

# The interpreter (intent.reference) that runs an author's function now; None where source is only compiled.
ACTIVE = contextvars.ContextVar("intent_interpreter", default=None)


def intrinsic(name):
    """Marks a documented signature as the operation `name`; calling it outside a kernel is an error."""

    def mark(function):
        @functools.wraps(function)
        def operation(*args, **kwargs):
            interpreter = ACTIVE.get()
            if interpreter is not None:
                return interpreter.operate(name, function, args, kwargs)
            raise LanguageError(f"I.{name} is an operation of the author language: it works only inside @intent.kernel and "
                                "@intent.fn, whose source is compiled or interpreted")

        operation.__intent_intrinsic__ = name
        return operation

    return mark


class Token:
    """A named compile-time choice, such as a storage format, or a group of operations."""

    def __init__(self, name, doc, **members):
        self.__intent_intrinsic__ = name
        self.__doc__ = doc
        self.__dict__.update(members)

    def __repr__(self):
        return f"I.{self.__intent_intrinsic__}"
