/** Every key of the smaller files. */
export const SITE_SAMPLE = `
workspace_name = "north"
workspace_prefix = "nd"
[[rig]]
name = "storefront"
path = "checkouts/storefront"
`;

export const LOCK_SAMPLE = `
schema = 1
[packs."https://packs.example.org/base.git//core"]
version = "1.2.0"
commit = "0123456789abcdef0123456789abcdef01234567"
fetched = "2026-01-15T10:00:00Z"
`;

export const ORDER_SAMPLE = `
[order]
description = "d"
exec = "assets/notes.sh"
scope = "rig"
trigger = "cooldown"
interval = "6h"
schedule = "0 6 * * *"
catch_up = "once"
delivery = "each"
tz = "Europe/Vienna"
check = "true"
on = "bead.closed"
timeout = "60s"
check_timeout = "10s"
enabled = true
idempotent = true
no_work_gate = false
env = { NOTES_STYLE = "short" }
params.ref.required = true
skip_aliases = ["notes"]
`;

export const FORMULA_SAMPLE = `
formula = "ship-change"
description = "d"
requires = { formula_compiler = ">=2.0.0" }
vars = { short = "x", long = { description = "d", default = "y" } }
[[steps]]
id = "build"
title = "t"
`;

export const COMMAND_SAMPLE = 'command = ["./run.sh"]\ndescription = "d"\nrun = "run.sh"\n';

export const DOCTOR_SAMPLE = 'description = "d"\nrun = "run.sh"\nfix = "fix.sh"\nwarmup = false\n';
