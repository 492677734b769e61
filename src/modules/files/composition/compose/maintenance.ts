import { parseDuration } from '../../../../contract/duration.js';
import { NO_KEYS } from './nodes.js';
import type { Table } from '../tree.js';
import type { Run } from './run.js';

export const LEAST_INTERVAL_MS = 60_000;
/** Usage counts the turns of the last 24 hours, and of today anywhere: these belong to sessions. */
export const LEAST_SESSIONS_MS = 48 * 3_600_000;

/** What maintenance is told by, in its table and in others. */
const CYCLE = ['interval', 'gc_timeout', 'alert_to'];
const RUNS = ['wisp_ttl', 'wisp_gc_interval'];
const SWITCH = 'enabled = true of [maintenance.dolt]';

/** Tells of keys that maintenance does not hear, or hears as something else. Who says that there is none means it. */
export function checkMaintenance(run: Run, city: Table): void {
  const [maintenance, daemon] = [city.table('maintenance') ?? NO_KEYS, city.table('daemon') ?? NO_KEYS];
  const cycle = maintenance.table('dolt') ?? NO_KEYS;
  const enabled = cycle.flag('enabled');
  if (enabled === undefined)
    for (const [table, keys] of [[maintenance, ['closed_session_ttl']] as const, [cycle, CYCLE] as const, [daemon, RUNS] as const])
      for (const key of keys) {
        const written = table.get(key);
        if (written !== undefined && table.text(key) !== '') run.warn(written, `has no effect without ${SWITCH}`);
      }
  if (enabled !== true) return;
  atLeast(run, cycle, 'interval', LEAST_INTERVAL_MS, '1m');
  atLeast(run, maintenance, 'closed_session_ttl', LEAST_SESSIONS_MS, '48h');
  for (const [key, other] of [RUNS, RUNS.toReversed()] as [string, string][])
    if (daemon.get(key) !== undefined && daemon.get(other) === undefined) run.warn(daemon.get(key)!, `has no effect without ${other}`);
}

function atLeast(run: Run, table: Table, key: string, least: number, said: string): void {
  const ms = parseDuration(table.text(key) ?? '') ?? 0;
  if (ms > 0 && ms < least) run.warn(table.get(key)!, `is less than ${said}, which holds instead`);
}
