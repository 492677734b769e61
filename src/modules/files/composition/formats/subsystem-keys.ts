import { z } from 'zod';
import {
  advised,
  atLeast,
  count,
  duration,
  durationOfDolt,
  filled,
  flag,
  forbidden,
  listOf,
  named,
  oneOf,
  schedule,
  port,
  retention,
  table,
  text,
  texts,
  env,
} from './values.js';
import { webhookPolicy } from './webhook-keys.js';

const mode = oneOf('off', 'auto', 'require');

/** One of the given words, or `exec:` and a script. */
function wordOrScript(...words: string[]) {
  return z.string().refine((written) => words.includes(written) || /^exec:./.test(written), {
    message: 'is not one of the accepted values',
    params: { accepted: [...words.filter((word) => word !== ''), 'exec:<script>'] },
  });
}

/** Beads that are closed are the history of work and stay; only the history of orders grows by itself. */
const policy = (kept: z.ZodType) => table({ storage: oneOf('history', 'no_history', 'ephemeral'), delete_after_close: kept });
const policies = table({ order_tracking: policy(retention) }).catchall(
  policy(forbidden('beads that are closed are kept; only order_tracking, the history of orders, is deleted after a time')),
);

const beads = table({
  provider: wordOrScript('bd', 'file'),
  backend: text,
  event_hooks: flag,
  bd_compatibility: oneOf('bd-1.0.4', 'bd-1.0.5'),
  conditional_writes: mode,
  guarded_release: mode,
  policies,
});

const session = table({
  provider: text,
  setup_timeout: duration,
  setup_max_timeout: duration,
  startup_timeout: duration,
  nudge_ready_timeout: duration,
  nudge_retry_interval: duration,
  nudge_poll_interval: duration,
  nudge_lock_timeout: duration,
  debounce_ms: count,
  display_ms: count,
  progress_stall_timeout: duration,
  claim_holder_stall_timeout: atLeast('5m'),
  socket: text,
  remote_match: text,
  acp: table({ handshake_timeout: duration, nudge_busy_timeout: duration, output_buffer_lines: count }),
  k8s: table({
    namespace: text,
    image: text,
    context: text,
    cpu_request: text,
    mem_request: text,
    cpu_limit: text,
    mem_limit: text,
    prebaked: flag,
  }),
});

const daemon = table({
  formula_v2: flag,
  graph_workflows: flag,
  patrol_interval: duration,
  max_restarts: count,
  restart_window: duration,
  session_circuit_breaker: flag,
  session_circuit_breaker_max_restarts: count,
  session_circuit_breaker_window: duration,
  session_circuit_breaker_reset_after: duration,
  shutdown_timeout: duration,
  drift_drain_timeout: duration,
  wisp_gc_interval: duration,
  wisp_ttl: duration,
  observe_paths: texts,
  probe_concurrency: count,
  max_wakes_per_tick: count,
  nudge_dispatcher: oneOf('legacy', 'supervisor'),
  auto_restart_on_drift: flag,
  start_ready_timeout: duration,
  tick_debounce: duration,
  auto_prune_worker_dir: flag,
  auto_reap_closed_bead_worktrees: flag,
  auto_reap_closed_bead_worktrees_dry_run: flag,
  auto_reap_closed_bead_worktrees_min_age_minutes: count,
  dolt_stop_timeout: durationOfDolt,
  dolt_start_address_in_use_retry_window: durationOfDolt,
});

export const trigger = oneOf('cooldown', 'cron', 'condition', 'event', 'manual', 'webhook');
const orderOverride = table(
  {
    rig: text,
    enabled: flag,
    trigger,
    gate: trigger,
    interval: duration,
    schedule,
    check: filled,
    on: filled,
    pool: text,
    timeout: duration,
    check_timeout: duration,
    idempotent: flag,
    env,
  },
  { name: filled },
);

const api = table({
  port,
  bind: text,
  allow_mutations: flag,
  write_auth_verify_key: text,
  write_auth_required: flag,
  write_auth_allow_unverified: flag,
  read_auth_verify_key: text,
  read_auth_required: flag,
});

const doctor = table({
  worktree_rig_warn_size: text,
  worktree_rig_error_size: text,
  nested_worktree_prune: flag,
  check: listOf(table({ fix: text, description: text }, { name: filled, script: filled })),
});

const dolt = table({
  port,
  host: text,
  archive_level: count,
  auto_gc_enabled: flag,
  max_connections: count,
  read_timeout_millis: count,
  write_timeout_millis: count,
  wait_timeout_seconds: count,
  dolt_lock_release_timeout: durationOfDolt,
});

const storage = table({
  classes: table({ work: filled, graph: filled, sessions: filled, messaging: filled, orders: filled, nudges: filled }),
  bindings: named(
    table(
      {
        path: text,
        config_ref: text,
        url: text,
        auth: z.string().regex(/^(gasworks|env:[A-Za-z_][A-Za-z0-9_]*)$/, 'must be gasworks or env:NAME'),
      },
      { provider: filled },
    ),
  ),
});

const sink = ['', 'fake', 'fail'] as const;

export const SUBSYSTEMS = {
  beads,
  session,
  mail: table({ provider: wordOrScript(...sink, 'beadmail'), retention_ttl: retention }),
  events: table({
    provider: wordOrScript(...sink, 'file'),
    rotation: table({
      enabled: flag,
      max_size_bytes: count,
      check_interval_records: count,
      check_interval_seconds: count,
      archive_retain_age: advised('168h'),
    }),
  }),
  usage: table({ provider: wordOrScript(...sink, 'local', 'discard') }),
  daemon,
  orders: table({ skip: texts, max_timeout: duration, overrides: listOf(orderOverride) }),
  api,
  chat_sessions: table({ idle_timeout: duration, grace_period: duration }),
  convergence: table({ max_per_agent: count, max_total: count }),
  doctor,
  maintenance: table({
    closed_session_ttl: retention,
    dolt: table({ enabled: flag, interval: duration, gc_timeout: duration, alert_to: text }),
  }),
  dolt,
  storage,
  webhooks: webhookPolicy,
  extmsg: table({ default_route: listOf(table({ account_id: text }, { provider: filled, agent: filled })) }),
};
