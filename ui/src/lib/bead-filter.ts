import type { Bead } from '../api/types.js';

export interface BeadFilter {
  readonly status?: string;
  readonly type?: string;
  readonly label?: string;
  readonly assignee?: string;
  readonly priority?: string;
  readonly rig?: string;
  readonly text?: string;
}

/** Whose beads a filter has: a bare name also means the only agent of that name, which nobody knows but the service. Its answers tell who that is. */
export class Assignees {
  readonly #known = new Set<string>();
  readonly #asked = new Set<string>();

  constructor(private readonly wanted: string | undefined) {
    if (wanted !== undefined) this.#known.add(wanted);
  }

  has({ assignee = '' }: Pick<Bead, 'assignee'>): boolean {
    return this.wanted === undefined || this.#known.has(assignee);
  }

  /** The service has answered these under the filter. */
  learn(beads: readonly Pick<Bead, 'assignee'>[]): void {
    if (this.wanted === undefined) return;
    for (const { assignee } of beads) if (assignee !== undefined) this.#known.add(assignee);
  }

  /** Whether the service has to be asked if it is meant: once for each name. */
  isUnknown({ assignee = '' }: Pick<Bead, 'assignee'>): boolean {
    if (this.wanted === undefined || this.#known.has(assignee) || this.#asked.has(assignee)) return false;
    if (assignee.split(/[./]/).at(-1) !== this.wanted) return false;
    this.#asked.add(assignee);
    return true;
  }
}

/** Whether a bead is on the list that the service gives for a filter: the same conditions, on the bead itself. */
export function matches(
  bead: Bead,
  { status, type, label, assignee, priority, rig, text }: BeadFilter,
  assignees = new Assignees(assignee),
): boolean {
  if (status === undefined ? bead.status === 'closed' : status !== 'all' && bead.status !== status) return false;
  if (type !== undefined && bead.issue_type !== type) return false;
  if (label !== undefined && bead.labels?.includes(label) !== true) return false;
  if (!assignees.has(bead)) return false;
  if (priority !== undefined && String(bead.priority) !== priority) return false;
  if (rig !== undefined && bead.rig !== rig) return false;
  if (text === undefined) return true;
  const words = text.toLowerCase();
  return bead.title.toLowerCase().includes(words) || (bead.description ?? '').toLowerCase().includes(words);
}
