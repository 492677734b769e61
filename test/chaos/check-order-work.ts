import { toldOf } from './check-order-firings.js';
import { grouped } from './history-parts.js';
import { orderOf } from './orders-city.js';
import type { OrdersHistory } from './orders-history.js';
import type { Violations } from './violations.js';

/** What firings have done: runs that were launched, and commands that have said that they began and ended. */
export function checkOrderWork(history: OrdersHistory, violations: Violations): void {
  runs(history, violations);
  commands(history, violations);
}

/** A run is there exactly when its firing says so, and so does the log. */
function runs(history: OrdersHistory, violations: Violations): void {
  const wrong = (message: string, ...entries: unknown[]): void => violations.add('run of its firing', message, ...entries);
  const made = grouped(history.runs, ({ firing }) => firing ?? '');
  const completed = grouped(
    toldOf(history).flatMap(({ run_id: run }) => (run === undefined ? [] : [run])),
    (run) => run,
  );
  const created = createdRoots(history);
  for (const firing of history.firings) {
    const own = made.get(firing.id) ?? [];
    const { id, root } = firing;
    const wanted = orderOf.get(firing.order)?.what === 'formula' && firing.outcome === 'success';
    if ((root !== null) !== wanted) wrong(`${id} ended with ${firing.outcome} and has ${root ?? 'no run'}`, firing);
    if (own.length !== (wanted ? 1 : 0)) wrong(`${id} has launched ${own.length} runs`, firing, ...own);
    else if (wanted && own[0]!.id !== root) wrong(`${id} names another run`, firing, own[0]);
    if (root === null) continue;
    if (completed.get(root)?.length !== 1) wrong(`${id}: its end is told ${completed.get(root)?.length ?? 0} times with ${root}`, firing);
    if (created.get(id)?.join() !== root) wrong(`${id}: the log has ${created.get(id)?.join() ?? 'nothing'} made for it`, firing);
  }
  const known = new Set(history.firings.map(({ id }) => id));
  for (const run of history.runs) if (run.firing === null || !known.has(run.firing)) wrong(`${run.id} is of no firing`, run);
  for (const id of created.keys()) if (!made.has(id)) wrong(`a run was made for ${id} and is not there`);
}

/** Roots that were made, by the firing that they name. */
function createdRoots({ log }: OrdersHistory): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { type, text } of log) {
    if (type !== 'bead.created' || !text.includes('gc.order_firing')) continue;
    const { subject, payload } = JSON.parse(text) as { subject: string; payload: { bead?: { metadata?: Record<string, string> } } };
    const metadata = payload.bead?.metadata ?? {};
    const firing = metadata['gc.order_firing'];
    if (firing === undefined || metadata['gc.root_bead_id'] !== undefined) continue;
    found.set(firing, [...(found.get(firing) ?? []), subject]);
  }
  return found;
}

function commands({ faults, firings, traces }: OrdersHistory, violations: Violations): void {
  const wrong = (message: string, ...entries: unknown[]): void => violations.add('carried out', message, ...entries);
  const written = grouped(traces, ({ firing }) => firing);
  // A worker that is told to stop gives back what it has begun, and that does not count as tried.
  const givenBack = faults.filter(({ name, replica }) => name === 'terminate' && replica?.startsWith('worker')).length;
  for (const firing of firings) {
    const order = orderOf.get(firing.order);
    const own = written.get(firing.id) ?? [];
    const begun = own.filter(({ what }) => what === 'begin').length;
    const most = order?.what === 'formula' ? 0 : order?.idempotent === true ? firing.attempts + givenBack : 1;
    if (begun > most) wrong(`${firing.id}: begun ${begun} times, not ${most} at the most`, firing, ...own);
    if (own.some((line) => line.order !== firing.order)) wrong(`${firing.id}: carried out as another order`, firing, ...own);
    const seq = String(firing.event?.seq ?? '');
    if (own.some((line) => line.seq !== seq)) wrong(`${firing.id}: another event was handed over`, firing, ...own);
    const good = order?.what === 'exec' && firing.outcome === 'success';
    if (good && !own.some(({ what }) => what === 'end'))
      wrong(`${firing.id}: told to be done, and has not come to its end`, firing, ...own);
  }
  const known = new Set(firings.map(({ id }) => id));
  for (const trace of traces) if (!known.has(trace.firing)) wrong(`${trace.firing} was carried out and is no firing`, trace);
}
