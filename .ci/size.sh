#!/usr/bin/env bash
# Refuse files that are too large: the largest number of bytes, and the files.
set -euo pipefail
largest=$1
shift
for file in "$@"; do
    bytes=$(wc -c < "$file")
    if ((bytes > largest)); then
        echo "$file has $bytes bytes, but at most $largest are allowed: leave out what no user needs" >&2
        exit 1
    fi
done
