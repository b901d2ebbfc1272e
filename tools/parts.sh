# Sourced by scripts that run several checks: `part NAME COMMAND...` runs one, `report` prints the parts with their durations.

part_name=
part_lines=()
parts_began=$SECONDS
trap 'code=$?; [ "$code" = 0 ] || printf "\n%s failed (exit code %d)\n" "$part_name" "$code" >&2' EXIT

part() {
    local began=$SECONDS
    part_name=$1
    shift
    printf '\n-- %s\n' "$part_name"
    # Not behind `||` or `if`: there, bash ignores failures inside functions.
    "$@"
    part_lines+=("$(printf '%5d s  %s' $((SECONDS - began)) "$part_name")")
}

report() {
    printf '\n%s: %d parts passed in %d s\n' "$1" "${#part_lines[@]}" $((SECONDS - parts_began))
    printf '%s\n' "${part_lines[@]}"
}
