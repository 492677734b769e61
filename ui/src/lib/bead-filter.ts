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

  readonly #rest: BeadFilter;
  readonly #wanted: string | undefined;

  constructor({ assignee, ...rest }: BeadFilter) {
    this.#rest = rest;
    this.#wanted = assignee;
    if (assignee !== undefined) this.#known.add(assignee);
  }

  has({ assignee = '' }: Pick<Bead, 'assignee'>): boolean {
    return this.#wanted === undefined || this.#known.has(assignee);
  }

  /** The service has answered these under the filter. */
  learn(beads: readonly Pick<Bead, 'assignee'>[]): void {
    if (this.#wanted === undefined) return;
    for (const { assignee } of beads) if (assignee !== undefined) this.#known.add(assignee);
  }

  /** Whether the service has to be asked if it is meant: once for each name, and by a bead that its answer has if it is. */
  isUnknown(bead: Bead): boolean {
    const { assignee = '' } = bead;
    if (this.#wanted === undefined || this.#known.has(assignee) || this.#asked.has(assignee)) return false;
    if (!assignee.endsWith(`.${this.#wanted}`) && !assignee.endsWith(`/${this.#wanted}`)) return false;
    if (!matches(bead, this.#rest)) return false;
    this.#asked.add(assignee);
    return true;
  }
}

/** Whether a bead is on the list that the service gives for a filter: the same conditions, on the bead itself. */
export function matches(bead: Bead, filter: BeadFilter, assignees = new Assignees(filter)): boolean {
  const { status, type, label, priority, rig, text } = filter;
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
