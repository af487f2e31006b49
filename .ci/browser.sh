#!/usr/bin/env bash
# Installs what the browser tests need besides Python: Chromium, and the libraries that Evennia's
# webclient page loads from other sites, in the versions it asks for. As root on Debian it installs
# packages; other users are told their names. Does nothing if everything is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=.venvs/browser

have() { command -v "$1" >/dev/null 2>&1; }

need() {
    if [ "$(id -u)" -ne 0 ] || ! have apt-get; then
        echo "The browser tests need $1; install it and try again (Debian: apt install $1)." >&2
        exit 1
    fi
    echo "installing $1"
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq update
    apt-get -qq install --yes --no-install-recommends "$1" >/dev/null
}

have chromium || have chromium-browser || have google-chrome-stable || have google-chrome \
    || have "${EVENNIA_AI_BROWSER:-}" || need chromium

if ! cmp -s tests/browser/package.json "$folder/installed.json"; then
    have npm || need npm
    echo "installing the webclient's libraries"
    mkdir -p "$folder"
    cp tests/browser/package.json "$folder/"
    npm install --prefix "$folder" --no-package-lock --ignore-scripts --no-audit --no-fund \
        --loglevel=error
    cp tests/browser/package.json "$folder/installed.json"
fi
