#!/usr/bin/env bash
# Makes sure that the programs exist which the tests need and Go does not bring.
# What is missing is installed where that needs no question, on a Debian machine
# as root (a container, a CI runner); elsewhere it is named.
set -euo pipefail

packages=()
need() { # need package command...: the command succeeds where the package is there
	local package=$1
	shift
	"$@" >/dev/null 2>&1 || packages+=("$package")
}

# The race detector links with the C library, so its headers count as well.
# shellcheck disable=SC2046 # CC may hold flags
c_compiler() { echo '#include <stdlib.h>' | $(go env CC) -E -; }

if ! command -v go >/dev/null; then
	echo "error: go is not installed" >&2
	echo "hint: https://go.dev/dl" >&2
	exit 1
fi
need git git --version
need build-essential c_compiler

if [ ${#packages[@]} -eq 0 ]; then
	exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
	echo "error: not installed: ${packages[*]} (the names are Debian's)" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${packages[@]}"
