import { storable } from '../../../contract/storable.js';
import type { EntryWrite } from './entries.js';

/** One session of a call of `append_session_logs`. Without a fence the generation is only what its entries are marked with. */
export interface AppendItem {
  readonly sessionPk: number;
  readonly generation: number;
  readonly epoch: number;
  readonly activity?: string | undefined;
  readonly model?: string | undefined;
  readonly contextUsed?: number | undefined;
  readonly contextWindow?: number | undefined;
  readonly entries: readonly AppendEntry[];
}

/** Without an id the entry is a note and gets one; without a turn it belongs to the last. */
export type AppendEntry = Omit<EntryWrite, 'entryId' | 'turn'> & { readonly entryId?: string | undefined; readonly turn?: number };

/** The arguments of `append_session_logs` after `p_fenced`. Of entries with one id the last counts, in the place of the first. */
export function appendArguments(items: readonly AppendItem[]): unknown[][] {
  const sessions: unknown[][] = [[], [], [], [], [], [], [], [], []];
  const entries: unknown[][] = [[], [], [], [], [], [], [], [], [], [], []];
  [...items]
    .sort((a, b) => a.sessionPk - b.sessionPk)
    .forEach((item, i) => {
      const { sessionPk, generation, epoch, activity, model, contextUsed, contextWindow } = item;
      let n = 0;
      let output = false;
      for (const e of latest(item.entries)) {
        const raw = e.raw === undefined ? undefined : storable(e.raw);
        push(entries, [i + 1, ++n, e.entryId, e.kind, e.role, e.status, storable(e.blocks), raw, e.model, e.parentToolUseId, e.turn]);
        output ||= e.role !== 'user';
      }
      push(sessions, [sessionPk, generation, epoch, activity, model, contextUsed, contextWindow, n, output]);
    });
  return [...sessions, ...entries];
}

function push(columns: readonly unknown[][], row: readonly unknown[]): void {
  for (let i = 0; i < columns.length; i++) columns[i]!.push(row[i] ?? null);
}

function latest(entries: readonly AppendEntry[]): Iterable<AppendEntry> {
  if (entries.length < 2) return entries;
  const byId = new Map<unknown, AppendEntry>();
  for (const entry of entries) byId.set(entry.entryId ?? entry, entry);
  return byId.values();
}
