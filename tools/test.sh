#!/usr/bin/env bash
# Runs the tests of every package under the race detector. Arguments go to
# go test.
#
# gotestsum prints what go test prints and adds the number of tests and the
# reason of each that was skipped. Where it cannot be built (no network), the
# tests run all the same.
set -euo pipefail
cd "$(dirname "$0")/.."

export CGO_ENABLED=1
if make -s build/bin/gotestsum; then
	exec build/bin/gotestsum --format standard-quiet -- -race -timeout 20m "$@" ./...
fi
echo "gotestsum could not be built: no summary of skipped tests" >&2
exec go test -race -timeout 20m "$@" ./...
