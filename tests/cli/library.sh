# What the script tests share. Sourced with `pawl` set to the binary; gives a folder, a store and checks.
set -uo pipefail
dir=$(mktemp -d)
store=$dir/jobs.db
export PAWL_STORE=$store
started=()
trap 'for p in "${started[@]:-}"; do [[ -n $p ]] && kill -9 "$p" 2> /dev/null; done; rm -rf "$dir"' EXIT
failed=0
fail() { echo "FAILED: $*"; failed=1; }
expect() {  # expect EXIT_CODE COMMAND...: standard output in $dir/out, errors in $dir/err
  local wanted=$1
  shift
  "$@" > "$dir/out" 2> "$dir/err"
  local got=$?
  [[ $got -eq $wanted ]] || fail "$*: exit code $got, not $wanted: $(cat "$dir/out" "$dir/err")"
}
says() { grep -qF -- "$1" "$dir/out" || fail "no \"$1\" in the output: $(cat "$dir/out")"; }
complains() { grep -qF -- "$1" "$dir/err" || fail "no \"$1\" in the errors: $(cat "$dir/err")"; }
prints() { [[ $(cat "$dir/out") == "$1" ]] || fail "printed $(cat "$dir/out"), not $1"; }
# Branches that end side by side share their data in the order they end: of a flat object the members are compared.
members() { tr -d '{}' <<< "$1" | tr ',' '\n' | sort; }
is_flat() { [[ $1 == '{'*'}' && ${1:1:-1} != *['[{']* ]]; }
prints_members() {
  if is_flat "$1" && is_flat "$(cat "$dir/out")"; then
    [[ $(members "$(cat "$dir/out")") == "$(members "$1")" ]] || fail "printed $(cat "$dir/out"), not $1"
  else
    prints "$1"
  fi
}
until_true() {  # a condition that must come true within 30 seconds
  for _ in $(seq 300); do "$@" && return 0; sleep 0.1; done
  fail "never true: $*"
}
