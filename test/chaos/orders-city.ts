import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** An order of the run. */
export interface ChaosOrder {
  readonly name: string;
  readonly what: 'exec' | 'formula';
  readonly trigger: 'cooldown' | 'cron' | 'condition' | 'event' | 'manual' | 'webhook';
  /** Of a cooldown. */
  readonly intervalMs?: number;
  readonly on?: string;
  readonly delivery?: 'each' | 'coalesce';
  readonly idempotent?: boolean;
  /** Somebody runs it now and then, whatever is open. */
  readonly forced?: boolean;
}

export const ORDERS: readonly ChaosOrder[] = [
  { name: 'tick', what: 'exec', trigger: 'cooldown', intervalMs: 1_000 },
  { name: 'pulse', what: 'formula', trigger: 'cooldown', intervalMs: 1_000 },
  { name: 'pushed', what: 'exec', trigger: 'cooldown', intervalMs: 1_500, forced: true },
  { name: 'slot', what: 'exec', trigger: 'cron', idempotent: true },
  { name: 'maybe', what: 'exec', trigger: 'condition' },
  { name: 'each', what: 'exec', trigger: 'event', on: 'chaos.one', delivery: 'each' },
  { name: 'all', what: 'exec', trigger: 'event', on: 'chaos.two', delivery: 'coalesce', idempotent: true },
  { name: 'grow', what: 'formula', trigger: 'event', on: 'chaos.one', delivery: 'each' },
  { name: 'hand', what: 'exec', trigger: 'manual' },
  { name: 'start', what: 'formula', trigger: 'manual' },
  { name: 'hook', what: 'exec', trigger: 'webhook', idempotent: true },
  { name: 'report', what: 'formula', trigger: 'webhook' },
];

export const orderOf = new Map(ORDERS.map((order) => [order.name, order]));
/** Those that come by themselves, for as long as they are not switched off. */
export const TIMED = ORDERS.filter(({ trigger }) => trigger === 'cooldown' || trigger === 'cron' || trigger === 'condition');

/** Ends of ids, which are drawn: what happens to a firing follows from its own, also when it is begun again. */
const SOME = '*[02468ace]';
/** Says that it has begun and, when it ends well, that it ends; each in one write. Some take a moment, and some fail. */
const NOTE = `#!/bin/sh
echo "begin $SVC_ORDER_FIRING $SVC_ORDER $SVC_EVENT_SEQ" >> traces
case "$SVC_ORDER_FIRING" in ${SOME}) sleep 0.2 ;; esac
case "$SVC_ORDER_FIRING" in *[0d]) echo 'this one fails'; exit 3 ;; esac
echo "end $SVC_ORDER_FIRING $SVC_ORDER $SVC_EVENT_SEQ" >> traces
`;
const FORMULA = 'formula = "grow"\n[vars.mark]\ndefault = "none"\n[[steps]]\nid = "look"\ntitle = "Look at {{mark}}"\n';

function fileOf({ what, trigger, intervalMs, on, delivery, idempotent }: ChaosOrder): string {
  const lines = ['[order]', what === 'exec' ? 'exec = "sh note.sh"' : 'formula = "grow"', `trigger = "${trigger}"`];
  if (intervalMs !== undefined) lines.push(`interval = "${intervalMs}ms"`);
  if (trigger === 'cron') lines.push('schedule = "* * * * *"');
  if (trigger === 'condition') lines.push(`check = 'case "$SVC_ORDER_FIRING" in ${SOME}) exit 0 ;; esac; exit 1'`, 'interval = "700ms"');
  if (trigger === 'webhook') lines.push('params.mark.required = true');
  if (on !== undefined) lines.push(`on = "${on}"`, `delivery = "${delivery}"`);
  if (idempotent === true) lines.push('idempotent = true');
  return `${lines.join('\n')}\n`;
}

const HOOKS = ORDERS.filter(({ trigger }) => trigger === 'webhook').map(
  ({ name }) => `[[webhook]]\nname = "${name}"\nmax_per_minute = 6000\nrule = [{ order = "${name}", args = { mark = "{{mark}}" } }]\n`,
);

/** Writes the orders of the run into a city's directory. */
export async function writeOrders(city: string): Promise<void> {
  const file = join(city, 'city.toml');
  const files: Record<string, string> = {
    'city.toml': `${await readFile(file, 'utf8')}\n${HOOKS.join('\n')}`,
    'note.sh': NOTE,
    'formulas/grow.toml': FORMULA,
    ...Object.fromEntries(ORDERS.map((order) => [`orders/${order.name}.toml`, fileOf(order)])),
  };
  for (const [at, content] of Object.entries(files)) {
    await mkdir(dirname(join(city, at)), { recursive: true });
    await writeFile(join(city, at), content);
  }
}
