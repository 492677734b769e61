import { SKIPPED_FOR, type BeadChange, type BeadRecord } from './bead-record.js';
import type { Merge, RowChange } from './work.repository.js';

export interface Diff {
  readonly columns: RowChange;
  readonly metadata: Merge;
  /** The bead changes hands: its owner is another, or it comes back from closed. */
  readonly handover: boolean;
  readonly leaseMs: number | undefined;
}

/** The session that worked on a bead goes with its owner: kept, it would name somebody in events and claims who has left. */
export const UNSTAMPED = { 'gc.session_id': '', 'gc.session_name': '' } as const;

/** What of a change would really alter the bead; undefined when nothing would. */
export function diffOf(bead: BeadRecord, change: BeadChange): Diff | undefined {
  const columns: Record<string, unknown> = {};
  const put = (column: keyof RowChange, value: unknown): void => {
    if (value !== undefined && value !== bead[column as keyof BeadRecord]) columns[column] = value;
  };
  put('title', change.title);
  put('description', change.description === '' ? null : change.description);
  put('issue_type', change.type);
  put('status', change.status);
  put('priority', change.priority);
  put('assignee', change.assignee === '' ? null : change.assignee);
  put('parent', change.parent === '' ? null : change.parent);
  if (change.deferUntil !== undefined && change.deferUntil?.getTime() !== bead.defer_until?.getTime())
    columns.defer_until = change.deferUntil;
  const labels = labelsAfter(bead.labels, change);
  if (labels.size !== bead.labels.length || bead.labels.some((label) => !labels.has(label))) columns.labels = [...labels];
  const reopened = bead.status === 'closed' && columns.status === 'open';
  const isAnothers = 'assignee' in columns && change.sameOwner !== true;
  const leaves = isAnothers && bead.assignee !== null;
  // Why it was closed does not hold of an open bead, nor of the next time that it closes.
  const metadata = mergeOf(bead.metadata, {
    ...(reopened ? { close_reason: '' } : {}),
    ...(columns.status === 'open' ? unsaid(bead) : {}),
    ...(leaves ? UNSTAMPED : {}),
    ...change.metadata,
  });
  const handover = isAnothers || reopened || isUnclaimed(bead, columns);
  const leaseMs = change.lease?.ms;
  const nothing = Object.keys(columns).length === 0 && Object.keys(metadata.set).length === 0 && metadata.unset.length === 0;
  if (nothing && leaseMs === undefined) return undefined;
  return { columns: columns as RowChange, metadata, handover, leaseMs };
}

/** What says of a step how it ends. */
export const isSaid = (key: string): boolean =>
  key === 'gc.outcome' || key === 'gc.output_json' || key === SKIPPED_FOR || key.startsWith('gc.failure_');

/** Takes away what is said of a step that is to be done anew: whoever closes it then without a word says it passed. */
function unsaid({ run_id: run, metadata }: BeadRecord): Record<string, string> {
  return run === null ? {} : Object.fromEntries(Object.keys(metadata).flatMap((key) => (isSaid(key) ? [[key, '']] : [])));
}

/** Putting down what is held under a lease changes hands, whoever stays the owner; moves without a lease do not. */
function isUnclaimed(bead: BeadRecord, columns: Record<string, unknown>): boolean {
  return bead.lease_until !== null && columns.status === 'open';
}

/** A set: the same labels in another order are no change. */
export function labelsAfter(before: readonly string[], { labels, addLabels = [], removeLabels = [] }: BeadChange): ReadonlySet<string> {
  const after = new Set([...(labels ?? before), ...addLabels]);
  for (const label of removeLabels) after.delete(label);
  return after;
}

/** What merging `change` into `before` would set and take away; an empty value takes its key away. */
export function mergeOf(before: Readonly<Record<string, string>>, change: Readonly<Record<string, string>>): Merge {
  const entries = Object.entries(change);
  const set = entries.filter(([key, value]) => value !== '' && (!Object.hasOwn(before, key) || before[key] !== value));
  const unset = entries.filter(([key, value]) => value === '' && Object.hasOwn(before, key));
  return { set: Object.fromEntries(set), unset: unset.map(([key]) => key) };
}
