/** A file of every kind that uses every key of its format at least once, with values that are accepted. */
const AGENT = `
description = "Builds"
dir = "storefront"
scope = "rig"
work_dir = "work"
tmux_alias = "b"
suspended = false
prompt_template = "prompts/builder.md"
nudge = "look at your hook"
inject_fragments = ["rules"]
append_fragments = ["rules"]
inject_assigned_skills = true
overlay_dir = "overlay"
provider = "claude"
upstream = "gateway"
start_command = "run"
args = ["--fast"]
session = "tmux"
lifecycle = "one_shot"
prompt_mode = "flag"
prompt_flag = "--prompt"
ready_delay_ms = 10
ready_prompt_prefix = "> "
process_names = ["claude"]
env = { A = "1" }
option_defaults = { effort = "high" }
install_agent_hooks = ["claude"]
hooks_installed = true
pre_start = ["true"]
session_setup = ["true"]
session_setup_script = "setup.sh"
session_live = ["true"]
resume_command = "resume {{.SessionKey}}"
wake_mode = "fresh"
mouse_mode = "on"
attach = true
max_active_sessions = 4
min_active_sessions = 1
scale_check = "echo 1"
namepool = "names.txt"
drain_timeout = "5m"
depends_on = ["triager"]
idle_timeout = "30m"
max_session_age = "6h"
max_session_age_jitter = "20m"
assigned_work_defer_limit = 3
sleep_after_idle = "off"
on_boot = "true"
on_death = "true"
work_query = "ready"
sling_query = "ready"
default_sling_formula = "mol-do-work"
skills = ["changelog"]
mcp = ["files"]
`;

const AGENT_CHANGE = `${AGENT}
env_remove = ["B"]
inject_fragments_append = ["x"]
append_fragments_append = ["x"]
install_agent_hooks_append = ["x"]
pre_start_append = ["x"]
session_setup_append = ["x"]
session_live_append = ["x"]
skills_append = ["x"]
mcp_append = ["x"]
`;

const PROVIDER = `
network = "api"
base = "builtin:claude"
command = "claude"
args = ["-x"]
args_append = ["-y"]
display_name = "Claude"
path_check = "claude"
instructions_file = "CLAUDE.md"
prompt_mode = "flag"
prompt_flag = "--prompt"
ready_delay_ms = 100
ready_prompt_prefix = "> "
process_names = ["claude"]
emits_permission_warning = true
accept_startup_dialogs = false
env = { TEAM = "north" }
resume_flag = "--resume"
resume_style = "subcommand"
resume_command = "claude --resume {{.SessionKey}}"
session_id_flag = "--session"
fork_flag = "--fork"
permission_modes = { plan = "--plan" }
option_defaults = { effort = "high" }
options_schema = [
  { key = "effort", label = "Effort", type = "select", default = "low", omit = false, choices = [
    { value = "low", label = "Low", flag_args = ["-l"], flag_aliases = [["--effort", "low"]] },
  ] },
]
options_schema_merge = "by_key"
supports_acp = true
supports_hooks = true
acp_command = "claude-acp"
acp_args = ["acp"]
upstream_env = { base_url = "URL", api_key = "KEY", auth_token = "TOKEN" }
print_args = ["-p"]
title_model = "small"
`;

const UPSTREAM = `
description = "gateway"
base_url = "https://models.example.org"
api_key = "$KEY"
auth_token = "$TOKEN"
base_url_env = "A"
api_key_env = "B"
auth_token_env = "C"
env = { X = "1" }
`;

const IMPORT = `
source = "packs/desk"
version = "^1.2"
transitive = true
shadow = "silent"
export = true
`;

const DEFAULTS = `
provider = "claude"
model = "big"
upstream = "gateway"
wake_mode = "resume"
default_sling_formula = "mol-do-work"
allow_overlay = ["x"]
allow_env_override = ["RELEASE_TRAIN"]
append_fragments = ["rules"]
`;

const PUBLICATION = 'publication = { visibility = "tenant", hostname = "board", allow_websockets = true }';

const SERVICE = `
name = "board"
kind = "proxy_process"
publish_mode = "private"
state_root = "state"
${PUBLICATION}
workflow = { contract = "health" }
process = { command = ["run.sh"], health_path = "/ready" }
`;

const WEBHOOK = `
name = "hub"
rig = "storefront"
publication = { visibility = "private" }
max_per_minute = 10
[webhook.verify]
scheme = "hmac-sha256"
secret_env = "SVC_WEBHOOK_SECRET_HUB"
signature_header = "X-S"
event_header = "X-E"
dedup_header = "X-D"
timestamp_header = "X-T"
replay_window = "5m"
allowed_cidrs = ["192.0.2.0/24"]
[[webhook.rule]]
event = "push"
match = { ref = "main" }
target = "order"
order = "o"
rig = "storefront"
args = { a = "b" }
`;

const PRICING = `
provider = "claude"
model = "m"
last_verified = "2026-01-15"
tier = { prompt_usd_per_1m = 3.5, completion_usd_per_1m = 15.5, cache_read_usd_per_1m = 0.3, cache_creation_usd_per_1m = 3.75 }
`;

const MONITOR = `
name = "main"
owner = "o"
repo = "r"
base_branches = ["main"]
rig = "storefront"
repair_route = "builder"
notify = ["triager"]
repair_workflow = "fix"
webhook_secret_env = "S"
webhook_secret_key = "k"
poll_interval = "5m"
merge_queue = "observe"
`;

const SLEEP = '{ interactive_resume = "2h", interactive_fresh = "1h", noninteractive = "10m" }';

const SUBSYSTEMS = `
[beads]
provider = "bd"
backend = "x"
event_hooks = true
bd_compatibility = "bd-1.0.5"
conditional_writes = "auto"
guarded_release = "require"
policies.order_tracking = { storage = "ephemeral", delete_after_close = "3d" }
[session]
provider = "tmux"
setup_timeout = "10s"
setup_max_timeout = "20s"
startup_timeout = "60s"
nudge_ready_timeout = "10s"
nudge_retry_interval = "500ms"
nudge_poll_interval = "2s"
nudge_lock_timeout = "30s"
debounce_ms = 500
display_ms = 5000
progress_stall_timeout = "10m"
claim_holder_stall_timeout = "5m"
socket = "s"
remote_match = "m"
acp = { handshake_timeout = "30s", nudge_busy_timeout = "60s", output_buffer_lines = 1000 }
[session.k8s]
namespace = "gc"
image = "i"
context = "c"
cpu_request = "500m"
mem_request = "1Gi"
cpu_limit = "2"
mem_limit = "4Gi"
prebaked = true
[mail]
provider = "beadmail"
retention_ttl = "720h"
[events]
provider = "file"
rotation = { enabled = true, max_size_bytes = 1000, check_interval_records = 10, check_interval_seconds = 60, archive_retain_age = "720h" }
[usage]
provider = "local"
[daemon]
formula_v2 = true
patrol_interval = "30s"
max_restarts = 5
restart_window = "1h"
session_circuit_breaker = false
session_circuit_breaker_max_restarts = 5
session_circuit_breaker_window = "1h"
session_circuit_breaker_reset_after = "2h"
shutdown_timeout = "0"
drift_drain_timeout = "2m"
wisp_gc_interval = "1h"
wisp_ttl = "1h"
observe_paths = ["x"]
probe_concurrency = 8
max_wakes_per_tick = 5
nudge_dispatcher = "supervisor"
auto_restart_on_drift = true
start_ready_timeout = "5m"
tick_debounce = "0s"
auto_prune_worker_dir = true
auto_reap_closed_bead_worktrees = false
auto_reap_closed_bead_worktrees_dry_run = false
auto_reap_closed_bead_worktrees_min_age_minutes = 10
dolt_stop_timeout = "30s"
dolt_start_address_in_use_retry_window = "30s"
[orders]
skip = ["noisy"]
max_timeout = "10m"
[[orders.overrides]]
name = "sweep"
rig = "*"
enabled = true
trigger = "cron"
interval = "1h"
schedule = "0 * * * *"
check = "true"
on = "bead.closed"
pool = "builder"
timeout = "1m"
check_timeout = "10s"
idempotent = true
env = { A = "1" }
[api]
port = 9443
bind = "127.0.0.1"
allow_mutations = true
write_auth_verify_key = "k"
write_auth_required = true
write_auth_allow_unverified = false
read_auth_verify_key = "k"
read_auth_required = true
[chat_sessions]
idle_timeout = "4h"
grace_period = "5m"
[convergence]
max_per_agent = 2
max_total = 10
[doctor]
worktree_rig_warn_size = "10GB"
worktree_rig_error_size = "50GB"
nested_worktree_prune = false
check = [{ name = "disk", script = "assets/disk.sh", fix = "assets/fix.sh", description = "d" }]
[maintenance]
closed_session_ttl = "30d"
[maintenance.dolt]
enabled = true
interval = "168h"
gc_timeout = "10m"
alert_to = "desk"
[dolt]
port = 0
host = "localhost"
archive_level = 0
auto_gc_enabled = true
max_connections = 256
read_timeout_millis = 15000
write_timeout_millis = 300000
wait_timeout_seconds = 30
dolt_lock_release_timeout = "1m"
[storage]
classes = { work = "a", graph = "a", sessions = "a", messaging = "a", orders = "a", nudges = "a" }
[storage.bindings.a]
provider = "p"
path = ".gc/store"
config_ref = "c"
url = "u"
auth = "env:TOKEN"
[webhooks]
allow_public = ["hub"]
rate_limit = { per_minute = 10, burst = 5, override = [{ name = "hub", per_minute = 1, burst = 1 }] }
[[extmsg.default_route]]
provider = "chat"
account_id = "a"
agent = "triager"
`;

export const CITY_SAMPLE = `
include = ["site/limits.toml"]
session_sleep = ${SLEEP}
[workspace]
network = "api"
name = "north"
prefix = "nd"
provider = "claude"
timezone = "Europe/Vienna"
start_command = "run"
suspended_on_start = false
max_active_sessions = -1
session_template = "nd-{{.Agent}}"
install_agent_hooks = ["claude"]
global_fragments = ["rules"]
env = { TEAM = "north" }
includes = ["packs/old"]
default_rig_includes = ["packs/old"]
[providers.claude]${PROVIDER}
[upstreams.gateway]${UPSTREAM}
[imports.desk]${IMPORT}
[defaults.rig.imports.desk]${IMPORT}
[agent_defaults]${DEFAULTS}
[[agent]]
name = "builder"${AGENT}
[[named_session]]
name = "front"
template = "desk.triager"
scope = "city"
dir = ""
mode = "always"
[[rigs]]
name = "storefront"
path = "checkouts/storefront"
prefix = "SF"
default_branch = "main"
suspended_on_start = true
formulas_dir = "f"
max_active_sessions = 4
default_sling_target = "storefront/builder"
default_sling_targets = ["storefront/builder"]
session_sleep = ${SLEEP}
dolt_host = "h"
dolt_port = 1
formula_vars = { a = "b" }
includes = ["packs/old"]
[rigs.imports.desk]${IMPORT}
[[rigs.overrides]]
agent = "builder"${AGENT_CHANGE}
[[rigs.patches]]
agent = "builder"${AGENT_CHANGE}
[[service]]${SERVICE}
[[webhook]]${WEBHOOK}
[[pricing]]${PRICING}
[[patches.agent]]
name = "desk.triager"${AGENT_CHANGE}
[[patches.named_session]]
name = "front"
dir = ""
template = "desk.triager"
mode = "on_demand"
[[patches.rigs]]
name = "storefront"
path = "p"
prefix = "ss"
default_branch = "dev"
suspended_on_start = true
formula_vars = { a = "c" }
[[patches.providers]]
name = "claude"
_replace = true
env_remove = ["A"]${PROVIDER}
[[patches.github_pr_monitor]]
notify_append = ["x"]${MONITOR}
[[github.pr_monitor]]${MONITOR}
[packs.old]
source = "x"
${SUBSYSTEMS}`;

export const PACK_SAMPLE = `
includes = ["../other"]
[pack]
name = "release-desk"
schema = 2
version = "1.0.0"
description = "d"
requires_gc = ">=1"
requires = [{ scope = "city", agent = "triager" }]
[imports.core]${IMPORT}
[agent_defaults]${DEFAULTS}
[providers.claude]${PROVIDER}
[upstreams.gateway]${UPSTREAM}
[[agent]]
name = "builder"${AGENT}
[[named_session]]
template = "triager"
name = "front"
scope = "city"
dir = ""
mode = "always"
[[service]]${SERVICE}
[[webhook]]${WEBHOOK}
[[pricing]]${PRICING}
[[patches.agent]]
name = "builder"${AGENT_CHANGE}
[[patches.named_session]]
name = "front"
dir = ""
template = "triager"
mode = "on_demand"
[runtimes.cloud]
command = "run.sh"
protocol = 0
[global]
session_live = ["true"]
[[doctor]]
name = "x"
[[commands]]
name = "x"
`;

export const AGENT_SAMPLE = AGENT;
