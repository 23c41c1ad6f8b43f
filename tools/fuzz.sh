#!/usr/bin/env bash
# Runs every fuzz target of the module for FUZZTIME. A target without seeds
# fails, and so does one that stands in a file but that go test does not list.
set -euo pipefail
cd "$(dirname "$0")/.."
fuzztime=${FUZZTIME:-10s}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
targets=0
failed=()
fail() {
	echo "FAIL $1: $2" >&2
	failed+=("$1")
}

# Each line: the package, its folder, its test files.
format='{{.ImportPath}}{{"\t"}}{{.Dir}}{{"\t"}}{{range .TestGoFiles}}{{.}} {{end}}{{range .XTestGoFiles}}{{.}} {{end}}'
packages=$(go list -f "$format" ./...)
while IFS=$'\t' read -r package dir files; do
	[ -n "$files" ] || continue
	# shellcheck disable=SC2086 # names of Go files hold no spaces
	written=$(cd "$dir" && cat $files | grep -cE '^func Fuzz([^a-z(][A-Za-z0-9_]*)?\(' || true)
	[ "$written" -gt 0 ] || continue

	if ! list=$(go test -list '^Fuzz' "$package"); then
		echo "$list" >&2
		fail "$package" "does not build"
		continue
	fi
	names=$(grep '^Fuzz' <<<"$list" || true)
	listed=$(grep -c . <<<"$names" || true)
	if [ "$listed" -ne "$written" ]; then
		fail "$package" "$written fuzz targets are written, go test lists $listed"
	fi
	for name in $names; do
		targets=$((targets + 1))
		# Without -fuzz, go test runs a target once for each of its seeds.
		if ! run=$(go test -count=1 -run "^$name\$" -v "$package"); then
			echo "$run" >&2
			fail "$package.$name" "fails on its seeds"
			continue
		fi
		seeds=$(grep -c "^=== RUN   $name/" <<<"$run" || true)
		if [ "$seeds" -eq 0 ]; then
			fail "$package.$name" "has no seeds"
			continue
		fi
		echo "=== $package.$name ($seeds seeds, $fuzztime)"
		# Making each interesting input small would take up to a minute for one:
		# with seeds as long as a trace nothing else would be done.
		go test -run '^$' -fuzz "^$name\$" -fuzztime "$fuzztime" -fuzzminimizetime 20x "$package" | tee "$log" && continue
		# The go command fails now and then only because the time is up.
		grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input' "$log" && continue
		fail "$package.$name" "found a failure"
	done
done <<<"$packages"

if [ "$targets" -eq 0 ]; then
	echo "FAIL: no fuzz targets found" >&2
	exit 1
fi
echo "$targets fuzz targets, ${#failed[@]} failed"
[ ${#failed[@]} -eq 0 ]
