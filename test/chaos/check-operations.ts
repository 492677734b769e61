import { SUPERVISOR, type History, type LogRow, type OperationRow, type Write } from './history.js';
import { parsed } from './check-log.js';
import type { LogIndex } from './log-index.js';
import type { Violations } from './violations.js';

const isTerminal = (row: LogRow): boolean => row.type === 'request.failed' || row.type.startsWith('request.result.');

/** Exactly one terminal event a accepted operation, in agreement with its row; city rows in agreement with their events. */
export function checkOperations(history: History, log: LogIndex, violations: Violations): void {
  const terminals = new Map<string, LogRow[]>();
  for (const row of history.final.log) {
    if (!isTerminal(row)) continue;
    const id = parsed(row).payload?.request_id ?? '';
    terminals.set(id, [...(terminals.get(id) ?? []), row]);
  }
  const operations = new Map(history.final.operations.map((o) => [o.id, o]));
  for (const write of history.writes) accepted(write, operations, terminals, violations);
  for (const operation of operations.values()) ended(operation, terminals.get(operation.id) ?? [], violations);
  for (const [id, rows] of terminals) {
    if (!operations.has(id)) violations.add('row with event', `a terminal event of no operation: ${id}`, ...rows);
  }
  unasked(history, operations, violations);
  cities(history, log, violations);
}

function accepted(
  write: Write,
  operations: ReadonlyMap<string, OperationRow>,
  terminals: ReadonlyMap<string, LogRow[]>,
  violations: Violations,
): void {
  if (write.kind === 'emit' || write.outcome !== 'acknowledged') return;
  const operation = operations.get(write.requestId ?? '');
  if (operation === undefined) violations.add('reliable', `an accepted ${write.kind} of ${write.city} is not stored`, write);
  else if (operation.kind !== write.kind || operation.target !== write.city) {
    violations.add(
      'reliable',
      `accepted as ${write.kind} of ${write.city}, stored as ${operation.kind} of ${operation.target}`,
      write,
      operation,
    );
  }
  const count = terminals.get(write.requestId ?? '')?.length ?? 0;
  if (count !== 1) violations.add('one terminal event', `${count} terminal events for an accepted ${write.kind} of ${write.city}`, write);
}

function ended(operation: OperationRow, rows: readonly LogRow[], violations: Violations): void {
  const { id, kind, state } = operation;
  const finished = state === 'succeeded' || state === 'failed';
  if (rows.length > 1) violations.add('one terminal event', `${id} (${kind}) has ${rows.length} terminal events`, operation, ...rows);
  else if (finished !== (rows.length === 1)) {
    violations.add('row with event', `${id} (${kind}) is ${state} with ${rows.length} terminal events`, operation, ...rows);
  } else if (!finished) violations.add('one terminal event', `${id} (${kind}) never ended`, operation);
  const expected = state === 'succeeded' ? `request.result.${kind}` : 'request.failed';
  for (const row of finished ? rows : []) {
    if (row.type !== expected) violations.add('row with event', `${id} (${kind}) is ${state} and was told as ${row.type}`, operation, row);
    if (row.stream !== SUPERVISOR) violations.add('row with event', `${id} (${kind}) ended on ${row.stream}`, row);
  }
}

/** Every stored operation was accepted, or asked for by a request whose answer got lost. */
function unasked(history: History, operations: ReadonlyMap<string, OperationRow>, violations: Violations): void {
  const acknowledged = new Set(history.writes.filter((w) => w.outcome === 'acknowledged').map((w) => w.requestId));
  const lost = new Map<string, number>();
  for (const w of history.writes) {
    if (w.outcome === 'unknown') lost.set(`${w.kind} ${w.city}`, (lost.get(`${w.kind} ${w.city}`) ?? 0) + 1);
  }
  for (const operation of operations.values()) {
    if (acknowledged.has(operation.id)) continue;
    const what = `${operation.kind} ${operation.target}`;
    const left = lost.get(what) ?? 0;
    if (left === 0)
      violations.add('one terminal event', `${operation.id} (${what}) was refused or never asked for, and carried out`, operation);
    lost.set(what, left - 1);
  }
}

/** The registry holds a city exactly when its log says so; it runs exactly when its log says so. */
function cities(history: History, log: LogIndex, violations: Violations): void {
  const registered = new Map(history.final.cities.map((c) => [c.name, c]));
  for (const { name, active } of log.streams.values()) {
    if (name === SUPERVISOR) continue;
    const row = registered.get(name);
    if (active !== (row !== undefined))
      violations.add('row with event', `${name} is ${active ? '' : 'not '}in the feed, but ${row ? '' : 'not '}registered`);
    const last = (types: readonly string[]): string | undefined =>
      log.stream(name).findLast((r) => r !== undefined && types.includes(r.type))?.type;
    const told = last(['city.created', 'city.unregister_requested']);
    if (row !== undefined && told === undefined) violations.add('row with event', `${name} is registered, and no event says so`, row);
    if (row === undefined && told === 'city.created')
      violations.add('row with event', `${name} is gone from the registry, and no event says so`);
    const moved = last(['controller.started', 'controller.stopped', 'city.unregister_requested']);
    if (row?.running === true && moved !== 'controller.started')
      violations.add('row with event', `${name} runs, but its log says ${moved}`, row);
    if (row?.running === false && moved === 'controller.started')
      violations.add('row with event', `${name} does not run, but its log says ${moved}`, row);
  }
}
