#!/usr/bin/env bash
# Installs what tests/endpoints needs: the LiteLLM proxy, aimock, llmock, and a reader of character
# cards. Everything is put under .venvs; the rest of the machine is not changed. Does nothing if
# everything is there in the right versions.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=$PWD/.venvs/endpoints
wanted=$(cat tests/endpoints/package.json tests/endpoints/requirements.txt)

if [ "$(cat "$folder/installed" 2>/dev/null)" = "$wanted" ]; then
    exit 0
fi
if ! command -v npm >/dev/null 2>&1; then
    echo "The tests of endpoints need npm; install it and try again." >&2
    exit 1
fi
echo "installing endpoints of models for the tests"
rm -rf "$folder"
mkdir -p "$folder"
cp tests/endpoints/package.json "$folder/"
npm install --prefix "$folder" --no-package-lock --ignore-scripts --no-audit --no-fund --loglevel=error
"${PYTHON:-python3}" -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check uv
"$folder/python/bin/uv" pip install --quiet --python "$folder/python/bin/python" \
    --requirement tests/endpoints/requirements.txt
printf '%s' "$wanted" >"$folder/installed"
