import type { BeadView } from './history-work.js';
import type { Violations } from './violations.js';
import type { Replay, WorkEvent } from './work-replay.js';

/** A round's number, at the end of a step's name or before the part of it. */
const ROUND = /^(.+\.)(?:attempt\.|iteration\.|iter)(\d+)(?:\.[^.]+)?$/;

/**
 * A run ends once, with all of its steps; one whose steps are all over does not go on; each of its steps and rounds is made once,
 * and again only after somebody has removed it.
 * Whoever closes, reopens or removes what: that is what the product promises about it all the same.
 */
export class RunCheck {
  /** Every root that was made, by its id, with the steps that were. */
  readonly #runs = new Map<string, Set<string>>();
  readonly #closed = new Set<string>();
  /** Of each step that was made and not removed, by its run and reference: its id. */
  readonly #refs = new Map<string, string>();
  readonly #rounds = new Map<string, number>();
  readonly #resolved = new Set<string>();

  constructor(
    private readonly city: string,
    private readonly replay: Replay,
    private readonly violations: Violations,
  ) {}

  /** After `replay` has applied the event. */
  apply(event: WorkEvent): void {
    const { type, subject, payload } = event;
    if (type === 'molecule.resolved') {
      if (this.#resolved.has(subject)) this.#once(`${subject}: told twice that it is done`, event);
      this.#resolved.add(subject);
    }
    const { bead } = payload;
    if (!type.startsWith('bead.') || bead === undefined) return;
    if (isRoot(bead)) this.#root(event, bead);
    const root = bead.metadata?.['gc.root_bead_id'];
    if (root === undefined) return;
    if (type === 'bead.created') this.#made(event, bead, root);
    if (type === 'bead.deleted' && this.#refs.get(refOf(bead, root)) === bead.id) this.#refs.delete(refOf(bead, root));
  }

  #root(event: WorkEvent, { id, status }: BeadView): void {
    if (!this.#runs.has(id)) this.#runs.set(id, new Set());
    if (status === 'closed') this.#closed.add(id);
    else if (this.#closed.has(id) && event.type !== 'bead.deleted') this.#once(`${id}: goes on after its end`, event);
  }

  #made(event: WorkEvent, bead: BeadView, root: string): void {
    const { id, metadata = {} } = bead;
    this.#runs.get(root)?.add(id);
    const ref = metadata['gc.step_ref'] ?? '';
    const key = refOf(bead, root);
    if (this.#refs.has(key)) this.#once(`${root}: ${ref} was made twice`, event);
    this.#refs.set(key, id);
    const [, of, number] = ROUND.exec(ref) ?? [];
    if (of === undefined) return;
    const round = Number(number);
    const last = this.#rounds.get(`${root} ${of}`) ?? 0;
    if (round !== last && round !== last + 1) this.#once(`${root}: round ${round} of ${of} after ${last}`, event);
    this.#rounds.set(`${root} ${of}`, Math.max(last, round));
  }

  end(): void {
    for (const [id, steps] of this.#runs) {
      const root = this.replay.beads.get(id);
      if (root === undefined) continue;
      const left = [...steps].flatMap((step) => this.replay.beads.get(step) ?? []);
      const open = left.filter((step) => step.status !== 'closed');
      if (root.status === 'closed' && open.length > 0) this.#once(`${id}: ended, and ${open[0]!.id} is open`, root, open[0]);
      if (root.status !== 'closed' && left.length > 0 && open.length === 0)
        this.#once(`${id}: open, although all of its steps are closed`, root);
    }
  }

  #once(message: string, ...entries: unknown[]): void {
    this.violations.add('run once', `${this.city}: ${message}`, ...entries);
  }
}

function isRoot({ metadata = {} }: BeadView): boolean {
  return metadata['gc.formula_name'] !== undefined && metadata['gc.root_bead_id'] === undefined;
}

const refOf = ({ metadata = {} }: BeadView, root: string): string => `${root} ${metadata['gc.step_ref'] ?? ''}`;
