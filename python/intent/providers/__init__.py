"""Runtimes of the external providers: how generated source is loaded, compiled and launched."""
