#!/usr/bin/env bash
# `pawl eval` from the outside: what it prints, where, and how it exits.
#   cli_eval_test.sh PATH_TO_PAWL
set -euo pipefail

pawl=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/data.json" <<'JSON'
{"$job": {"data": {"total": 12.5, "tags": ["a", "b"]}}, "pay": {"output": {"data": {"ok": true}}}}
JSON
failures=0

# expect NAME EXIT OUTPUT ARGUMENT...: exit code and standard output must be these.
expect() {
  local name=$1 code=$2 output=$3 got=0 printed
  shift 3
  printed=$("$pawl" eval "$@" 2> "$folder/errors") || got=$?
  if [[ $got -ne $code || $printed != "$output" ]]; then
    echo "FAILED: $name: exit $got, printed: $printed"
    cat "$folder/errors"
    failures=$((failures + 1))
  fi
}
# complains TEXT: standard error of the last command must contain it.
complains() {
  if ! grep -qF -- "$1" "$folder/errors"; then
    echo "FAILED: standard error lacks: $1"
    cat "$folder/errors"
    failures=$((failures + 1))
  fi
}

expect "a bare reference" 0 '12.5' '{$job.data.total}' --data "$folder/data.json"
expect "an activity's output" 0 'true' '{pay.output.data.ok}' --data "$folder/data.json"
expect "a missing value is null" 0 'null' '{pay.output.data.no}' --data "$folder/data.json"
expect "JSON" 0 '{"n":25,"t":"b"}' '{"n":{"@pipe":[["{$job.data.total}",2],["{@math.multiply}"]]},"t":"{$job.data.tags.1}"}' --data "$folder/data.json"
expect "YAML" 0 '[3,"3",null,true,"x"]' '[3, "3", ~, true, x]'
expect "a YAML pipe" 0 '"a-b"' '{"@pipe": [["{$job.data.tags}", "-"], ["{@array.join}"]]}' --data "$folder/data.json"
expect "a literal in braces" 0 '"{x}"' '{{x}}'
expect "pretty" 0 $'[\n  1,\n  2\n]' '[1, 2]' --pretty
expect "now is given" 0 '"2024-02-29T13:05:09.000Z"' '{@symbol.date}' --now 2024-02-29T13:05:09Z
expect "no data is needed" 0 '3' '{"@pipe":[[1,2],["{@math.add}"]]}'

printed=$("$pawl" eval '{$job.data.tags}' --data - < "$folder/data.json")
[[ $printed == '["a","b"]' ]] || { echo "FAILED: data from standard input: $printed"; failures=$((failures + 1)); }

expect "the same seed gives the same number" 0 "$("$pawl" eval '{@math.random}' --seed 5)" '{@math.random}' --seed 5

expect "mistakes name path and suggestion" 2 '' '{"a": {"@pipe": [[1], ["{@math.ad}"]]}}'
complains '/a/@pipe/1/0: there is no function math.ad'
complains 'did you mean {@math.add}'
expect "all mistakes at once" 2 '' '["{$slef.input.data}", "{a.outptu.data}"]'
complains 'did you mean {$self.input.data}'
complains 'did you mean {a.output.data}'
expect "a file that does not exist" 2 '' '1' --data "$folder/none.json"
complains 'cannot read'
echo '{"a": 1,}' > "$folder/wrong.json"
expect "data that is not JSON" 2 '' '1' --data "$folder/wrong.json"
complains 'line 1, column 9'
expect "neither JSON nor YAML" 2 '' '[1, {'
expect "a function refuses" 1 '' '{"@pipe":[[{}],["{@string.trim}"]]}'
complains '/@pipe/1: string.trim: wants a string as operand 1, got an object'
expect "the budget ends" 1 '' '{"@pipe":[["x",1e12],["{@string.repeat}"]]}'

[[ $failures -eq 0 ]] || exit 1
echo "all passed"
