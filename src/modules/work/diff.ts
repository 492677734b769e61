import type { BeadChange, BeadRecord } from './bead-record.js';
import type { Merge, RowChange } from './work.repository.js';

export interface Diff {
  readonly columns: RowChange;
  readonly metadata: Merge;
  /** The bead changes hands: its owner is another, or it comes back from closed. */
  readonly handover: boolean;
  readonly leaseMs: number | undefined;
}

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
  if (labels.length !== bead.labels.length || labels.some((label, i) => label !== bead.labels[i])) columns.labels = labels;
  const metadata = mergeOf(bead.metadata, change.metadata ?? {});
  const handover = 'assignee' in columns || (bead.status === 'closed' && columns.status === 'open') || isUnclaimed(bead, columns);
  const leaseMs = change.lease?.ms;
  const nothing = Object.keys(columns).length === 0 && Object.keys(metadata.set).length === 0 && metadata.unset.length === 0;
  if (nothing && leaseMs === undefined) return undefined;
  return { columns: columns as RowChange, metadata, handover, leaseMs };
}

/** Taking work up and putting it down change hands too. Between open and in_progress of one owner nothing does. */
function isUnclaimed(bead: BeadRecord, columns: Record<string, unknown>): boolean {
  return bead.lease_until !== null && columns.status === 'open';
}

function labelsAfter(before: readonly string[], { labels, addLabels = [], removeLabels = [] }: BeadChange): readonly string[] {
  if (labels === undefined && addLabels.length === 0 && removeLabels.length === 0) return before;
  return [...new Set([...(labels ?? before), ...addLabels])].filter((label) => !removeLabels.includes(label));
}

function mergeOf(before: Readonly<Record<string, string>>, change: Readonly<Record<string, string>>): Merge {
  const set: Record<string, string> = {};
  const unset: string[] = [];
  for (const [key, value] of Object.entries(change)) {
    if (value !== '' && before[key] !== value) set[key] = value;
    if (value === '' && Object.hasOwn(before, key)) unset.push(key);
  }
  return { set, unset };
}
