#!/usr/bin/env bash
# The audit of action.yml: options from the environment, results beside each other, the audit's own exit code.
set -euo pipefail
folder="${RUNNER_TEMP:?}/sfumato-audit"
mkdir -p "$folder"
arguments=("$TEXTS" --suite "$SUITE" --json "$folder/audit.json" --sarif "$folder/audit.sarif" -o "$folder/audit.html")
if [ -n "$PROTECTOR" ]; then arguments+=(--protector "$PROTECTOR"); fi
if [ -n "$EMBEDDINGS" ]; then arguments+=(--embeddings "$EMBEDDINGS"); fi
if [ -n "$CONCEPT" ]; then arguments+=(--concept "$CONCEPT"); fi
if [ -n "$FAIL_ABOVE" ]; then arguments+=(--fail-above "$FAIL_ABOVE"); fi
if [ -n "$COMPARE" ]; then arguments+=(--compare "$COMPARE"); fi
{
    echo "json=$folder/audit.json"
    echo "sarif=$folder/audit.sarif"
    echo "report=$folder/audit.html"
} >>"$GITHUB_OUTPUT"
python -m sfumato audit "${arguments[@]}"
