#!/bin/sh
# Brings a machine to where `make build` works: Debian packages, a virtual environment, the package in it.
# Does nothing quickly when nothing is missing. `scripts/setup.sh --tests` adds what only tests need,
# `--fuzz` that and the compiler of the fuzz targets.
set -eu
cd "$(dirname "$0")/.."

APT_PACKAGES="libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools libzstd-dev zlib1g-dev g++ cmake ninja-build ccache"
PYTHON=${PYTHON:-python3}

[ "${1:-}" != --fuzz ] || APT_PACKAGES="$APT_PACKAGES clang-22 libclang-rt-22-dev"

say() { printf 'setup: %s\n' "$*"; }

# A python with `ensurepip` makes virtual environments by itself; Debian's needs its own package for that.
if ! "$PYTHON" -c 'import ensurepip' 2>/dev/null && [ ! -x .venv/bin/pip ]; then
  APT_PACKAGES="$APT_PACKAGES python3-venv"
fi

missing_packages() {
  for package in $APT_PACKAGES; do
    dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || printf '%s ' "$package"
  done
}

install_packages() {
  if ! command -v dpkg-query >/dev/null 2>&1; then
    [ -d /usr/lib/llvm-22/lib/cmake/mlir ] || say "this is no Debian system: install LLVM and MLIR 22.1, cmake, ninja and a C++17 compiler yourself"
    return 0
  fi
  missing=$(missing_packages)
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" = 0 ]; then sudo=
  elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then sudo=sudo
  else
    say "missing packages, and neither root nor password-free sudo to install them; run: apt-get install $missing"
    return 1
  fi
  say "installing $missing"
  export DEBIAN_FRONTEND=noninteractive
  # shellcheck disable=SC2086
  $sudo apt-get -qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 update
  # shellcheck disable=SC2086
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 \
    -o Dpkg::Use-Pty=0 --no-install-recommends install $missing >/dev/null
}

# install_requirements FILE: nothing when this very file was installed into this environment before.
install_requirements() {
  stamp=.venv/.installed-$(basename "$1" .txt)
  if ! cmp -s "$1" "$stamp"; then
    say "installing $1"
    .venv/bin/python -m pip install -qq --disable-pip-version-check --no-input -r "$1"
    cp "$1" "$stamp"
  fi
}

# The newest Triton lies in a folder of its own that is on no path: one suite compiles generated modules with it too.
install_newest_triton() {
  folder=.venv/newest-triton
  cmp -s requirements-newest-triton.txt "$folder/.installed" && return 0
  if ! .venv/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    say "requirements-newest-triton.txt has no wheel for this Python: its suite will be skipped"
    return 0
  fi
  say "installing requirements-newest-triton.txt"
  rm -rf "$folder"
  .venv/bin/python -m pip install -qq --disable-pip-version-check --no-input --no-deps --target "$folder" -r requirements-newest-triton.txt
  cp requirements-newest-triton.txt "$folder/.installed"
}

# `import intent` and `.venv/bin/intent` take this checkout as it is: no copy to go stale, no build back end.
install_package() {
  root=$(pwd)
  site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  printf '%s\n' "$root/python" | cmp -s - "$site/intent-checkout.pth" || printf '%s\n' "$root/python" >"$site/intent-checkout.pth"
  if [ ! -x .venv/bin/intent ] || ! head -n 1 .venv/bin/intent | grep -qxF "#!$root/.venv/bin/python"; then
    cat >.venv/bin/intent <<END
#!$root/.venv/bin/python
import sys
from intent.cli import main
sys.exit(main())
END
    chmod +x .venv/bin/intent
  fi
}

install_packages
# A virtual environment carries absolute paths: one that was moved or copied is made anew.
if ! .venv/bin/python -c "import sys; sys.exit(sys.prefix != '$(pwd)/.venv')" 2>/dev/null; then
  say "creating .venv"
  rm -rf .venv
  "$PYTHON" -m venv .venv
fi
install_requirements requirements.txt
if [ "${1:-}" = --tests ] || [ "${1:-}" = --fuzz ]; then
  install_requirements requirements-test.txt
  install_newest_triton
fi
install_package
