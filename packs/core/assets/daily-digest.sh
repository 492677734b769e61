#!/bin/sh
# One message a day: what was closed in the last 24 hours, what nobody has touched for as long, and what is urgent and blocked.
# Sends nothing when there is nothing to tell. DIGEST_TO is who gets it.
set -eu

report=$(mktemp)
trap 'rm -f "$report"' EXIT

section() {
  title=$1
  shift
  lines=$(svc bead list --limit 20 "$@")
  if [ -n "$lines" ]; then
    # Markdown leaves columns under each other only in lines that are indented by four.
    printf '%s\n\n%s\n\n' "$title" "$(printf '%s\n' "$lines" | sed 's/^/    /')" >>"$report"
  fi
}

section 'Finished since yesterday:' --status closed --updated-after 24h
section 'Under way, but nobody touched it for a day:' --status in_progress --updated-before 24h
section 'Most urgent, and blocked:' --status open --priority 0 --blocked

if [ -s "$report" ]; then
  today=$(date -u +%Y-%m-%d)
  svc mail send "${DIGEST_TO:-human}" --subject "Digest of $today" --body-file "$report" --idempotency-key "daily-digest-$today"
fi
