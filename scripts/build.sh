#!/bin/sh
# Configures build/ when a CMake file is newer than it, then builds what changed. Quiet unless something fails.
set -eu
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
PRESET=${PRESET:-release}
TARGETS=${TARGETS:-} # everything
# Compiler cache entries stay valid in other checkouts of the same sources.
CCACHE_BASEDIR=$(pwd)
CCACHE_NOHASHDIR=1
export CCACHE_BASEDIR CCACHE_NOHASHDIR

run() { # run LOG COMMAND...: the end of its output, only if it fails
  log=$1
  shift
  if ! "$@" >"$log" 2>&1; then
    grep -A 12 -m 3 -E '^FAILED|error:|Error' "$log" >&2 || tail -n 40 "$log" >&2
    printf 'build: failed; the whole output is in %s\n' "$log" >&2
    exit 1
  fi
}

mkdir -p "$BUILD"
if [ ! -f "$BUILD/build.ninja" ] ||
  [ -n "$(find CMakeLists.txt CMakePresets.json cmake include lib tools unittests -name 'CMake*' -newer "$BUILD/build.ninja" 2>/dev/null | head -n 1)" ]; then
  run "$BUILD/configure.log" cmake --preset "$PRESET"
  touch "$BUILD/build.ninja"
fi
# shellcheck disable=SC2086
steps=$(ninja -C "$BUILD" -n $TARGETS | grep -c '^\[' || true)
if [ "$steps" -gt 0 ]; then
  printf 'build: %s steps\n' "$steps"
  # shellcheck disable=SC2086
  run "$BUILD/build.log" ninja -C "$BUILD" -j "${JOBS:-$(nproc)}" $TARGETS
fi
