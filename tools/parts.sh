# Sourced by scripts that run several checks: `part NAME COMMAND...` runs one, `report` lists the checks and their durations.

part_name=
part_lines=()
parts_start=$SECONDS
trap 'code=$?; [ "$code" = 0 ] || printf "\n%s failed (exit code %d)\n" "$part_name" "$code" >&2' EXIT

part() {
    local start=$SECONDS
    part_name=$1
    shift
    printf '\n-- %s\n' "$part_name"
    # Run it directly, because bash ignores failures inside functions that are called with `||` or `if`.
    "$@"
    part_lines+=("$(printf '%5d s  %s' $((SECONDS - start)) "$part_name")")
}

report() {
    printf '\n%s: %d parts passed in %d s\n' "$1" "${#part_lines[@]}" $((SECONDS - parts_start))
    printf '%s\n' "${part_lines[@]}"
}
