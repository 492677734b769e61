import { logical } from './attempt.js';
import type { BeadView, Change } from './history-work.js';
import type { Violations } from './violations.js';
import { same, type WorkEvent } from './work-replay.js';

type Made = BeadView & { readonly closed_items?: unknown; readonly created?: unknown; readonly steps?: unknown };
const MAKERS = new Set<string>(['bead.create', 'convoy.create', 'run.launch', 'mail.send', 'mail.reply']);

/** What was asked for is made once under a key, and is what the answer said; what was refused, or never asked for, is not made. */
export function checkMade(city: string, changes: readonly Change[], events: readonly WorkEvent[], violations: Violations): void {
  const made = new Map<string, WorkEvent[]>();
  const values = new Map<string, WorkEvent>();
  for (const event of events) {
    const { bead, message } = event.payload;
    // Steps are made by their runs.
    if (event.type === 'bead.created' && bead?.metadata?.['gc.root_bead_id'] === undefined) add(made, bead?.title ?? '', event);
    if (event.type === 'mail.sent' || event.type === 'mail.replied') add(made, message?.subject ?? '', event);
    for (const [key, value] of Object.entries(bead?.metadata ?? {})) if (key.startsWith('chaos.')) values.set(value, event);
  }
  const asked = logical(changes);
  for (const [marker, attempts] of asked) {
    const { kind } = attempts[0]!;
    if (MAKERS.has(kind)) one(marker, attempts, made.get(marker) ?? [], violations);
    else if (attempts.every((a) => a.outcome === 'refused') && values.has(marker))
      violations.add('nothing uncommitted', `${kind} was refused in ${city}, and done`, ...attempts, values.get(marker));
  }
  for (const [marker, rows] of made) {
    const notice = rows[0]!.type === 'mail.sent' && marker.startsWith('Convoy ');
    if (!asked.has(marker) && !notice) violations.add('nothing uncommitted', `nobody asked for ${marker} in ${city}`, ...rows);
  }
}

function one(marker: string, attempts: readonly Change[], rows: readonly WorkEvent[], violations: Violations): void {
  const { kind, key } = attempts[0]!;
  if (attempts.every((a) => a.outcome === 'refused')) {
    if (rows.length > 0) violations.add('nothing uncommitted', `${kind} ${marker} was refused, and done`, ...attempts, ...rows);
    return;
  }
  const effects = new Map<string, number>();
  // A copy of a letter is an effect of its own; of one mailbox there must be only one.
  for (const { payload, type } of rows) {
    const to = type === 'bead.created' ? '' : ((payload.message as { to?: string }).to ?? '');
    effects.set(to, (effects.get(to) ?? 0) + 1);
  }
  const most = key === undefined ? attempts.filter((a) => a.outcome !== 'refused').length : 1;
  for (const count of effects.values())
    if (count > most) violations.add('idempotent', `${kind} ${marker} was done ${count} times`, ...attempts, ...rows);
  const answers = attempts.filter((a) => a.outcome === 'acknowledged').map((a) => ({ attempt: a, body: JSON.parse(a.body!) as Made }));
  for (const { attempt, body } of answers) {
    const { closed_items: _closed, created: _created, steps: _steps, ...thing } = body;
    const row = rows.find((r) => r.subject === body.id);
    if (row === undefined)
      violations.add('work kept', `${kind} ${marker} was acknowledged as ${body.id}, of which no event tells`, attempt);
    else if (!same(thing, row.payload.bead ?? row.payload.message))
      violations.add('work kept', `${kind} ${marker} was answered as something else than its event tells`, attempt, row);
  }
  const [first] = answers;
  const other = key === undefined ? undefined : answers.find(({ body }) => !same(body, first!.body));
  if (other !== undefined)
    violations.add('idempotent', `different answers under the key of ${kind} ${marker}`, first!.attempt, other.attempt);
}

function add(map: Map<string, WorkEvent[]>, key: string, event: WorkEvent): void {
  map.set(key, [...(map.get(key) ?? []), event]);
}
