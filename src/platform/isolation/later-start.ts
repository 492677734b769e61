import { readlinkSync } from 'node:fs';
import { markersOf, type Markers, type TableEntry } from '../runtime/process-table.js';

/**
 * Whether the session of a start has been started anew. Variables alone do not say so, which the session can give to whatever it runs: a worker has
 * begun it, and lives. What the session has left is taken over by the first process, or by another one of root that keeps watch over services.
 */
export function runsAgain(
  table: readonly TableEntry[],
  user: number,
  { deployment, city, session, generation }: Markers,
  programOf: (pid: number) => string | undefined = exeOf,
): boolean {
  const parents = new Map(table.map((entry) => [entry.pid, entry] as const));
  const isWorker = (parent: TableEntry | undefined): boolean =>
    parent?.user?.() === process.getuid?.() && (parent?.pid === process.pid || programOf(parent!.pid) === process.execPath);
  const isLater = (entry: TableEntry): boolean => {
    if (entry.user?.() !== user || entry.parent === 1 || !isWorker(parents.get(entry.parent))) return false;
    // Of what a worker has begun, and nothing else: whatever an agent starts may have an environment that takes long to read.
    const found = markersOf(Object.fromEntries(entry.environment() ?? []));
    if (found?.deployment !== deployment || found.city !== city || found.session !== session) return false;
    return Number(found.generation) > Number(generation);
  };
  return table.some(isLater);
}

function exeOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    // It has gone meanwhile.
    return undefined;
  }
}
