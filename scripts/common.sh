# What the scripts share: where they stand, where builds go, and what has to be on the machine. Sourced, not run.
# shellcheck shell=bash

shopt -s inherit_errexit
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

# One folder for what is built, outside the clone, so that several clones and all steps share it.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/astudio/target}"

# The same features in every step, else each step would build the crates anew.
# shellcheck disable=SC2034
flags=(--workspace --features failpoints --locked)

oldest_rust="1.95.0"

step() {
    printf '\n== %s\n' "$*"
}

fail() {
    printf '%s\n' "$*" >&2
    exit 1
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo "$@"; else return 1; fi
}

# SQLite is compiled from its C source.
need_c_compiler() {
    if command -v cc >/dev/null && printf '#include <stdio.h>\nint main(void){return 0;}\n' | cc -x c -o /dev/null - 2>/dev/null; then
        return
    fi
    command -v apt-get >/dev/null || fail "A C compiler with its headers is needed (for SQLite). Install gcc and the C library's headers."
    step "a C compiler is missing: installing gcc and libc6-dev"
    if ! { as_root apt-get update && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends gcc libc6-dev; }; then
        fail "The C compiler could not be installed. Run as root: apt-get install gcc libc6-dev"
    fi
}

need_rust() {
    # A fresh rustup is not yet in the PATH of this shell.
    if ! command -v cargo >/dev/null && [ -x "$HOME/.cargo/bin/cargo" ]; then
        export PATH="$HOME/.cargo/bin:$PATH"
    fi
    command -v cargo >/dev/null || fail "Rust $oldest_rust or newer is needed, and there is no cargo here. Install it from https://rustup.rs."
    local found
    found="$(rustc --version | cut -d ' ' -f 2 | cut -d - -f 1)"
    if [ "$(printf '%s\n%s\n' "$oldest_rust" "$found" | sort -V | head -n 1)" != "$oldest_rust" ]; then
        fail "Rust $oldest_rust or newer is needed; this is $found. Run: rustup update stable"
    fi
}

need_component() {
    cargo "$1" --version >/dev/null 2>&1 || fail "cargo $1 is missing. Run: rustup component add $2"
}

# Tests end and stop processes with `kill` as a program of its own.
need_kill() {
    type -P kill >/dev/null && return
    command -v apt-get >/dev/null || fail "The program kill is needed for tests. Install procps."
    step "kill is missing: installing procps"
    if ! { as_root apt-get update && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends procps; }; then
        fail "It could not be installed. Run as root: apt-get install procps"
    fi
}

# The published AG-UI client, which a test runs against our server. It goes beside what is built; the lock file pins it.
need_agui_client() {
    if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
        command -v apt-get >/dev/null || fail "Node.js 18 or newer with npm is needed for one test. Install both."
        step "Node.js is missing: installing nodejs and npm"
        if ! { as_root apt-get update && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends nodejs npm; }; then
            fail "Node.js could not be installed. Run as root: apt-get install nodejs npm"
        fi
    fi
    local folder="$CARGO_TARGET_DIR/agui"
    if [ -d "$folder/node_modules/@ag-ui/client" ] && cmp -s tests/agui/package-lock.json "$folder/package-lock.json"; then
        return
    fi
    step "the AG-UI client"
    mkdir -p "$folder"
    cp tests/agui/package.json tests/agui/package-lock.json "$folder/"
    (cd "$folder" && npm ci --no-audit --no-fund)
}
