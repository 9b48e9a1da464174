#!/bin/sh
# fuzz.sh TIME: runs every fuzz target of the module for TIME each.
set -eu
cd "$(dirname "$0")/.."
time=${1:-30s}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# fuzz DIR NAME
fuzz() {
	status=0
	go test "$1" -run '^$' -fuzz "^$2\$" -fuzztime "$time" -fuzzminimizetime 10x >"$log" 2>&1 || status=$?
	cat "$log"
	if [ "$status" != 0 ]; then # go may have said nothing, as when the disk is full
		echo "go test $1 -fuzz $2: status $status; $(df -Ph "${TMPDIR:-/tmp}" | awk 'NR==2 {print $4}') of disk are free"
	fi
	return "$status"
}

# ended: all that went wrong is that the time was over, which the coordinator of
# Go before 1.27 may take for a failure (go.dev/issue/75804). What fuzzing finds is
# written to a file, and says so.
ended() {
	grep -qE '^    context deadline exceeded$' "$log" && ! grep -qiE 'failing input|panic:|fuzzing process' "$log"
}

grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u | while read -r dir; do
	grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go | sed 's/^func //' | sort -u | while read -r name; do
		echo "== $dir $name"
		fuzz "$dir" "$name" || { ended && echo "once more: the time was over" && fuzz "$dir" "$name"; }
	done
done
