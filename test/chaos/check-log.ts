import { logical } from './attempt.js';
import type { History, LogRow, Write } from './history.js';
import type { LogIndex } from './log-index.js';
import type { Violations } from './violations.js';

interface Parsed {
  readonly message?: string;
  readonly payload?: { readonly request_id?: string };
}

/** The event's members that the checks need. */
export function parsed(row: LogRow): Parsed {
  return JSON.parse(row.text) as Parsed;
}

/** Dense sequences, acknowledged writes in the log once, refused ones not at all, repeats under a key without effect. */
export function checkLog(history: History, log: LogIndex, violations: Violations): void {
  dense(history, violations);
  const byMarker = new Map<string, LogRow[]>();
  for (const row of history.final.log) {
    const { message } = parsed(row);
    if (message !== undefined) byMarker.set(message, [...(byMarker.get(message) ?? []), row]);
  }
  const emits = logical(history.writes.filter((write) => write.kind === 'emit'));
  for (const [marker, writes] of emits) emitted(marker, writes, byMarker.get(marker) ?? [], log, violations);
  answers(history.writes, violations);
  for (const write of [...history.writes, ...history.changes, ...history.edits]) {
    const { status = 0, problem } = write;
    if (status >= 500 && status !== 503)
      violations.add('no internal errors', `${write.kind} of ${write.city} was answered ${status}`, write);
    if (status >= 400 && problem !== true) violations.add('no internal errors', `an answer of ${status} that is no problem`, write);
  }
}

function dense({ final }: History, violations: Violations): void {
  const seqs = new Map<string, number[]>(final.streams.map((s) => [s.name, []]));
  for (const row of final.log) {
    const own = seqs.get(row.stream);
    if (own === undefined) violations.add('dense sequences', `an event of a stream that does not exist: ${row.stream}`, row);
    else own.push(row.seq);
  }
  for (const { name, head } of final.streams) {
    const sorted = seqs.get(name)!.sort((a, b) => a - b);
    const wrong = sorted.findIndex((seq, i) => seq !== i + 1);
    if (wrong >= 0) violations.add('dense sequences', `${name} has ${sorted[wrong]} where ${wrong + 1} belongs`);
    else if (sorted.length !== head) violations.add('dense sequences', `${name} has ${sorted.length} events and the head ${head}`);
  }
}

function emitted(marker: string, writes: readonly Write[], rows: readonly LogRow[], log: LogIndex, violations: Violations): void {
  const acknowledged = writes.filter((w) => w.outcome === 'acknowledged');
  for (const write of acknowledged) {
    const row = write.seq === undefined ? rows[0] : log.row(write.city, write.seq);
    if (row === undefined || parsed(row).message !== marker) {
      violations.add(
        'reliable',
        `acknowledged as ${write.city}:${write.seq}, which is ${row === undefined ? 'not in the log' : 'another event'}`,
        write,
        row,
      );
    }
  }
  const refused = writes.every((w) => w.outcome === 'refused');
  if (refused && rows.length > 0) violations.add('nothing uncommitted', `refused, but in the log: ${marker}`, ...writes, ...rows);
  const effects = writes[0]!.key === undefined ? writes.filter((w) => w.outcome !== 'refused').length : 1;
  if (rows.length > Math.max(effects, 0) && !refused) {
    violations.add('idempotent', `${marker} is ${rows.length} times in the log`, ...writes, ...rows);
  }
}

/** Everybody who is answered under a key gets the same answer. */
function answers(writes: readonly Write[], violations: Violations): void {
  const byKey = new Map<string, Write[]>();
  for (const w of writes) {
    if (w.key === undefined || w.outcome !== 'acknowledged') continue;
    const key = `${w.kind} ${w.kind === 'emit' ? w.city : ''} ${w.key}`;
    byKey.set(key, [...(byKey.get(key) ?? []), w]);
  }
  for (const [key, answered] of byKey) {
    const distinct = new Set(answered.map((w) => `${w.status} ${w.body}`));
    if (distinct.size > 1) violations.add('idempotent', `different answers under the key of ${key}`, ...answered);
  }
}
