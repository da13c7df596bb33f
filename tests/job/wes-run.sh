#!/bin/bash
# What the WES server of these tests calls for a run: cwltool without containers, its outcome in
# the files that the server reads. The server's own script would start a container from elsewhere.
set -m
run=$1
now() { date -u +%Y-%m-%dT%H:%M:%S; }
put() { printf '%s' "$2" >"$run/.$1.new" && mv "$run/.$1.new" "$run/$1"; }
finish() {
  put exit_code.txt "$1"
  put end_time.txt "$(now)"
  put state.txt "$2"
  exit 0
}
trap '[ -n "$!" ] && kill -TERM -- "-$!"; finish 138 CANCELED' USR1
# From here on a cancellation is a signal; one that came before stands in the state.
put run.pid $$
[ "$(cat "$run/state.txt")" != CANCELING ] || finish 138 CANCELED
put start_time.txt "$(now)"
put state.txt RUNNING
cd "$run/exe" || exit 1
mkdir -p "$run/tmp"
"$(dirname "$(command -v sapporo-cli)")/cwltool" --quiet --no-container --tmpdir-prefix "$run/tmp/t" \
  --outdir "$run/outputs" workflow.json workflow_params.json >"$run/stdout.log" 2>"$run/stderr.log" &
wait "$!"
code=$?
if [ "$code" -ne 0 ]; then finish "$code" EXECUTOR_ERROR; fi
sapporo-cli dump-outputs "$run"
finish 0 COMPLETE
