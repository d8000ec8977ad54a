#!/bin/sh
# Find a browser for the browser tests, or install one: on the PATH, else Playwright's own, else
# Debian's package. With none the tests skip themselves, and fail when CI is set.
for name in chromium chromium-browser google-chrome msedge; do
    if command -v "$name" >/dev/null; then
        exit 0
    fi
done
python=$1
if timeout 300 "$python" -m playwright install chromium >/dev/null 2>&1; then
    exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null && exit 0
fi
echo "no browser was found or could be installed: browser tests will be skipped" >&2
