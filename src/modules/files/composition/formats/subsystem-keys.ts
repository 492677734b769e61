import { z } from 'zod';
import {
  advised,
  atLeast,
  count,
  duration,
  durationOfDolt,
  env,
  filled,
  flag,
  forbidden,
  former,
  idle,
  key,
  listOf,
  named,
  oneOf,
  port,
  retention,
  schedule,
  table,
  text,
  texts,
} from './values.js';
import { webhookPolicy } from './webhook-keys.js';

const mode = oneOf('off', 'auto', 'require');

/** One of the given words, or `exec:` and a script. */
function wordOrScript(...words: string[]) {
  return z
    .string()
    .refine((written) => words.includes(written) || /^exec:./.test(written), {
      message: 'is not one of the accepted values',
      params: { accepted: [...words.filter((word) => word !== ''), 'exec:<script>'] },
    })
    .meta({ pattern: `^(${words.join('|')}|exec:.+)$` });
}

/**
 * Beads that are closed are the history of work and stay; only the history of orders grows by itself. Nothing has versions that a policy could
 * do without: a row of Postgres is as it is now, and events tell what it was. The words that say just this of the history of orders are taken.
 */
const policy = (storage: z.ZodType, kept: z.ZodType) =>
  table({
    storage: key(storage, 'How they are stored: without versions, in both of the words that are taken.', 'no_history'),
    delete_after_close: key(
      kept,
      'How long they are kept after their end. The last ten firings of an order stay for as long as there is the order, and 30 days longer.',
      '30d',
    ),
  });
const UNVERSIONED = ['no_history', 'ephemeral'];
const unversioned = z
  .string()
  .refine((written) => written !== 'history', {
    message: 'cannot be history: no versions of a firing are kept, events tell of it; delete_after_close says how long it is kept',
    abort: true,
  })
  .refine((written) => UNVERSIONED.includes(written), { message: 'is not one of the accepted values', params: { accepted: UNVERSIONED } })
  .meta({ enum: UNVERSIONED });
const policies = table({ order_tracking: key(policy(unversioned, retention), 'The history of orders.') }).catchall(
  policy(
    forbidden('has no meaning here: all beads are kept in Postgres, without versions, and events tell what they were; leave it out'),
    forbidden('beads that are closed are kept; only order_tracking, the history of orders, is deleted after a time'),
  ),
);

const beads = table({
  provider: idle(wordOrScript('bd', 'file'), 'Store of beads; here it is Postgres.'),
  backend: idle(text, 'What that store is built on.'),
  event_hooks: idle(flag, 'Whether hooks run when beads change.'),
  bd_compatibility: idle(oneOf('bd-1.0.4', 'bd-1.0.5'), 'Version whose behaviour is wanted.'),
  conditional_writes: idle(mode, 'Whether writes may be conditional; here they always may.'),
  guarded_release: idle(mode, 'Whether only the holder may let go; here it is so.'),
  policies: key(policies, 'How long what is over is kept, by kind.'),
});

const session = table({
  provider: idle(text, 'What sessions run in; say it of an agent (`session`, `start_command`).'),
  setup_timeout: idle(duration, 'How long a set-up command may take.'),
  setup_max_timeout: idle(duration, 'How long all of them may take.'),
  startup_timeout: key(duration, 'How long a process may take until it is ready, with all that prepares it.', '60s'),
  nudge_ready_timeout: idle(duration, 'How long is waited before a nudge.'),
  nudge_retry_interval: idle(duration, 'Pause between nudges.'),
  nudge_poll_interval: idle(duration, 'How often is looked.'),
  nudge_lock_timeout: idle(duration, 'How long a lock is waited for.'),
  debounce_ms: idle(count, 'Pause after keys.'),
  display_ms: idle(count, 'How long a message shows.'),
  progress_stall_timeout: key(duration, 'A session in a turn that says nothing for so long begins anew. Without it that is not looked at.'),
  claim_holder_stall_timeout: key(atLeast('5m'), 'The same for one that holds work and does nothing; five minutes at the least.'),
  socket: idle(text, 'Socket of terminals.'),
  remote_match: idle(text, 'Sessions that run elsewhere.'),
  acp: idle(
    table({
      handshake_timeout: idle(duration, 'How long the beginning may take.'),
      nudge_busy_timeout: idle(duration, 'How long a busy agent is waited for.'),
      output_buffer_lines: idle(count, 'Lines that are kept.'),
    }),
    'Programs that speak ACP.',
  ),
  k8s: idle(
    table({
      namespace: idle(text, 'Namespace.'),
      image: idle(text, 'Image.'),
      context: idle(text, 'Context.'),
      cpu_request: idle(text, 'Processors that are asked for.'),
      mem_request: idle(text, 'Memory that is asked for.'),
      cpu_limit: idle(text, 'Processors at the most.'),
      mem_limit: idle(text, 'Memory at the most.'),
      prebaked: idle(flag, 'Whether the image has the city.'),
    }),
    'Sessions in Kubernetes.',
  ),
});

const daemon = table({
  formula_v2: key(flag, 'Whether formulas may ask for the second compiler.', true),
  graph_workflows: former(flag, 'formula_v2'),
  patrol_interval: key(duration, 'How often the sessions of the city are looked at when nothing happens.', '30s'),
  max_restarts: key(count, 'So many crashes within `restart_window`, and a session rests; 0 for any number.', 5),
  restart_window: key(duration, 'The time in which crashes count.', '1h'),
  session_circuit_breaker: key(flag, 'Whether a named session rests that is started again and again for nothing.', false),
  session_circuit_breaker_max_restarts: key(count, 'So many restarts are borne in the window.', 5),
  session_circuit_breaker_window: key(duration, 'The window.', '1h'),
  session_circuit_breaker_reset_after: key(duration, 'How long it rests. Without it twice the window.'),
  shutdown_timeout: idle(duration, 'How long the end may take.'),
  drift_drain_timeout: key(
    duration,
    'How long a session may take to end its turn when it is started again for a changed configuration.',
    '2m',
  ),
  wisp_gc_interval: key(duration, 'With `wisp_ttl`: has the maintenance remove runs.'),
  wisp_ttl: key(duration, 'How long runs are kept after their end. Without both for ever.'),
  observe_paths: idle(texts, 'Further folders that are watched.'),
  probe_concurrency: idle(count, 'Looks at once.'),
  max_wakes_per_tick: key(count, 'So many starts in one patrol.', 5),
  nudge_dispatcher: idle(oneOf('legacy', 'supervisor'), 'Who nudges.'),
  auto_restart_on_drift: key(flag, 'Whether sessions are started again when what they were started with has changed.', true),
  start_ready_timeout: idle(duration, 'How long the start of the city may take.'),
  tick_debounce: idle(duration, 'Pause between patrols.'),
  auto_prune_worker_dir: idle(flag, 'Whether folders of workers are cleaned up.'),
  auto_reap_closed_bead_worktrees: idle(flag, 'Whether working copies of closed beads are removed.'),
  auto_reap_closed_bead_worktrees_dry_run: idle(flag, 'Whether that is only told.'),
  auto_reap_closed_bead_worktrees_min_age_minutes: idle(count, 'How old they have to be.'),
  dolt_stop_timeout: idle(durationOfDolt, 'How long the store may take to stop.'),
  dolt_start_address_in_use_retry_window: idle(durationOfDolt, 'How long its start is tried again.'),
});

export const trigger = oneOf('cooldown', 'cron', 'condition', 'event', 'manual', 'webhook');
const orderOverride = table(
  {
    rig: key(text, 'Of this rig only; `*` of all rigs. Without it of the city.'),
    enabled: key(flag, 'As in the order.'),
    trigger: key(trigger, 'As in the order.'),
    gate: former(trigger, 'trigger'),
    interval: key(duration, 'As in the order.'),
    schedule: key(schedule, 'As in the order.'),
    check: key(filled, 'As in the order.'),
    on: key(filled, 'As in the order.'),
    pool: key(text, 'As in the order.'),
    timeout: key(duration, 'As in the order.'),
    check_timeout: key(duration, 'As in the order.'),
    idempotent: key(flag, 'As in the order.'),
    env: key(env, 'Adds to the variables of the order.'),
  },
  { name: key(filled, 'The order that is changed.') },
);

const api = table({
  port: idle(port, "Port of an API of the city; here all cities have the supervisor's (`SVC_PORT`)."),
  bind: idle(text, 'Its address.'),
  allow_mutations: idle(flag, 'Whether it may change something.'),
  write_auth_verify_key: idle(text, 'Key that writers are checked with; here keys are made by `svc key create`.'),
  write_auth_required: idle(flag, 'Whether writers need one.'),
  write_auth_allow_unverified: idle(flag, 'Whether others may write, too.'),
  read_auth_verify_key: idle(text, 'Key that readers are checked with.'),
  read_auth_required: idle(flag, 'Whether readers need one.'),
});

const doctor = table({
  worktree_rig_warn_size: idle(text, 'Size of working copies that is told.'),
  worktree_rig_error_size: idle(text, 'Size that is a fault.'),
  nested_worktree_prune: idle(flag, 'Whether working copies in others are removed.'),
  check: idle(
    listOf(
      table(
        { fix: idle(text, 'Script that mends it.'), description: idle(text, 'What is looked at.') },
        { name: idle(filled, 'What it is called.'), script: idle(filled, 'The script.') },
      ),
    ),
    'Checks of your own.',
  ),
});

const dolt = table({
  port: idle(port, 'Port.'),
  host: idle(text, 'Host.'),
  archive_level: idle(count, 'How archives are packed.'),
  auto_gc_enabled: idle(flag, 'Whether it cleans up by itself.'),
  max_connections: idle(count, 'Connections at once.'),
  read_timeout_millis: idle(count, 'How long a read may take.'),
  write_timeout_millis: idle(count, 'How long a write may take.'),
  wait_timeout_seconds: idle(count, 'How long an idle connection stays.'),
  dolt_lock_release_timeout: idle(durationOfDolt, 'How long a lock is waited for.'),
});

const storage = table({
  classes: idle(
    table({
      work: idle(filled, 'Beads.'),
      graph: idle(filled, 'Runs.'),
      sessions: idle(filled, 'Sessions.'),
      messaging: idle(filled, 'Mail.'),
      orders: idle(filled, 'Orders.'),
      nudges: idle(filled, 'Nudges.'),
    }),
    'Which store has what.',
  ),
  bindings: idle(
    named(
      table(
        {
          path: idle(text, 'Its folder.'),
          config_ref: idle(text, 'Its configuration.'),
          url: idle(text, 'Its address.'),
          auth: idle(
            z.string().regex(/^(gasworks|env:[A-Za-z_][A-Za-z0-9_]*)$/, 'must be gasworks or env:NAME'),
            'How it is signed in to.',
          ),
        },
        { provider: idle(filled, 'What kind of store it is.') },
      ),
    ),
    'The stores, by name.',
  ),
});

const sink = ['', 'fake', 'fail'] as const;

export const SUBSYSTEMS = {
  beads: key(beads, 'The store of work.'),
  session: key(session, 'How sessions are started and watched.'),
  mail: key(
    table({
      provider: idle(wordOrScript(...sink, 'beadmail'), 'Where mail goes; here it is Postgres.'),
      retention_ttl: key(retention, 'How long archived mail is kept.', '720h'),
    }),
    'Mail between agents and people.',
  ),
  events: key(
    table({
      provider: idle(wordOrScript(...sink, 'file'), 'Where events go; here it is Postgres.'),
      rotation: idle(
        table({
          enabled: idle(flag, 'Whether the log is rotated by itself; `svc events rotate` does it by hand.'),
          max_size_bytes: idle(count, 'Size at which it is.'),
          check_interval_records: idle(count, 'How often is looked, in events.'),
          check_interval_seconds: idle(count, 'The same in seconds.'),
          archive_retain_age: idle(advised('168h'), 'How long archives are kept; here `SVC_EVENT_RETENTION` says it.'),
        }),
        'The end of a log and the beginning of the next.',
      ),
    }),
    'The event log.',
  ),
  usage: key(
    table({
      provider: key(
        wordOrScript(...sink, 'local', 'discard'),
        'Whether it is told: it is for `local` and for the empty word, and for no other. It is counted in Postgres all the same.',
        'local',
      ),
    }),
    'Tokens and cost.',
  ),
  daemon: key(daemon, 'How the city is looked after.'),
  orders: key(
    table({
      skip: key(texts, 'Orders that the city does without, such as those of packs: they are not there.'),
      max_timeout: key(duration, 'No order may take longer.'),
      overrides: key(listOf(orderOverride), 'Changes of orders, such as those of packs.'),
    }),
    'Orders of the city as a whole.',
  ),
  api: idle(api, 'An API of the city alone.'),
  chat_sessions: key(
    table({
      idle_timeout: key(duration, 'After so long without work sessions sleep that were made of a provider alone.'),
      grace_period: idle(duration, 'How long they are left alone at first.'),
    }),
    'Sessions of a provider, without an agent.',
  ),
  convergence: idle(
    table({ max_per_agent: idle(count, 'Loops of one agent at once.'), max_total: idle(count, 'Loops at once.') }),
    'Loops of agents.',
  ),
  doctor: idle(doctor, 'What a check of the city looks at.'),
  maintenance: key(
    table({
      closed_session_ttl: key(
        retention,
        'How long sessions are kept after they were closed, with their transcripts; 48 h at the least. Without it for ever.',
      ),
      dolt: key(
        table({
          enabled: key(flag, 'Whether a worker looks after the store.', false),
          interval: key(duration, 'How often.', '168h'),
          gc_timeout: key(duration, 'How long it may take.', '10m'),
          alert_to: key(text, 'Who gets mail when it fails.'),
        }),
        'The cycle.',
      ),
    }),
    'What removes what is over.',
  ),
  dolt: idle(dolt, 'A store of another kind.'),
  storage: idle(storage, 'Which stores there are.'),
  webhooks: key(webhookPolicy, 'What holds for all webhooks of the city.'),
  extmsg: key(
    table({
      default_route: key(
        listOf(
          table(
            { account_id: key(text, 'Of this account only.') },
            { provider: key(filled, 'Conversations of this provider.'), agent: key(filled, 'Who answers them.') },
          ),
        ),
        'Who answers where nobody is bound and no group is.',
      ),
    }),
    'Conversations elsewhere.',
  ),
};
