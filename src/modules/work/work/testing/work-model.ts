import { isDeepStrictEqual } from 'node:util';
import { viewOf, type Beads, type ModelBead, type View } from './bead-model.js';
import { closedConvoys, convoysAround, isCompleted } from './convoy-model.js';
import { DEFERRALS, idOf, NOBODY, type CreateStep, type Ref, type Step, type UpdateStep } from './steps.js';

/** A step that must be refused: with this problem, or (`invalid`) by the database itself. */
export class Refused extends Error {
  constructor(readonly reason: string) {
    super(reason);
  }
}

export interface ModelEvent {
  readonly type: string;
  readonly subject: string;
  readonly message: string | null;
  readonly run_id: string;
  readonly session_id: string | null;
  readonly step_id: string | null;
  /** Of bead events: the bead as the event shows it. */
  readonly bead?: View;
  readonly payload?: View;
}

const COMPLETED = 'convoy autoclose: all children closed';
const PREFIXES: Readonly<Record<string, string>> = { '': 'al', web: 'web', core: 'co' };

/**
 * The rules of a city's work, written down a second time and in another manner: after every small change all beads are
 * looked at, and whichever looks different has been changed by it.
 */
export class WorkModel {
  beads: Beads = new Map();
  /** Every id that was ever given. */
  ids: string[] = [];
  #counters = new Map<string, number>();
  #atBegin: Beads = new Map();
  #touched: (string | ModelEvent)[] = [];

  /** Carries out a transaction. A refusal at some step undoes it all; the step's number and reason are answered. */
  transact(steps: readonly Step[], each: (step: Step, result: unknown) => void): { events: ModelEvent[]; refusal?: Refused } {
    const [ids, counters] = [[...this.ids], new Map(this.#counters)];
    this.#atBegin = structuredClone(this.beads);
    this.#touched = [];
    try {
      for (const step of steps) each(step, this.#apply(step));
      return { events: this.#touched.flatMap((entry) => (typeof entry === 'string' ? this.#eventsOf(entry) : entry)) };
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      [this.beads, this.ids, this.#counters] = [this.#atBegin, ids, counters];
      return { events: [], refusal: error };
    }
  }

  /** What the step answers: a bead's id, whether an edge was new, or nothing. */
  #apply(step: Step): unknown {
    switch (step.kind) {
      case 'create':
        return this.#create(step);
      case 'update':
        return this.#update(this.#get(step.bead), step);
      case 'close':
        return this.#close(this.#get(step.bead), step.reason);
      case 'reopen': {
        const bead = this.#get(step.bead);
        if (bead.status !== 'closed') throw new Refused('wrong_state');
        return this.#update(bead, { kind: 'update', bead: step.bead, status: 'open' });
      }
      case 'remove':
        return this.#remove(this.#get(step.bead));
      case 'putEdge':
        return this.#putEdges(step.from, [step.to], step.type);
      case 'putEdges':
        return this.#putEdges(step.from, step.to, step.type);
      case 'deleteEdge':
        return this.#deleteEdges(this.#get(step.from), [step.to]);
      case 'deleteEdges':
        return this.#deleteEdges(this.#get(step.from), step.to);
      case 'look':
        return undefined;
      case 'abort':
        throw new Refused('abort');
    }
  }

  #get(ref: Ref): ModelBead {
    const bead = this.beads.get(idOf(this.ids, ref));
    if (bead === undefined) throw new Refused('bead_not_found');
    return bead;
  }

  #create(step: CreateStep): string {
    const prefix = PREFIXES[step.rig];
    if (prefix === undefined) throw new Refused('rig_not_found');
    const parent = step.parent === undefined ? undefined : this.#get(step.parent).id;
    const number = (this.#counters.get(prefix) ?? 0) + 1;
    this.#counters.set(prefix, number);
    const id = `${prefix}-${number}`;
    this.#change(id, () => {
      this.beads.set(id, {
        id,
        rig: step.rig,
        title: step.title,
        status: 'open',
        type: step.type ?? 'task',
        priority: step.priority,
        assignee: step.assignee || undefined,
        author: step.author,
        parent,
        description: step.description || undefined,
        labels: [...new Set(step.labels)],
        metadata: new Map(Object.entries(step.metadata ?? {}).filter(([, value]) => value !== '')),
        defer: step.defer && DEFERRALS[step.defer],
        ephemeral: step.ephemeral ?? false,
        noHistory: step.noHistory ?? false,
        needs: new Map(),
        revision: 1,
        fence: 0,
        leaseMs: undefined,
      });
    });
    this.ids.push(id);
    return id;
  }

  #update(bead: ModelBead, step: UpdateStep): string {
    const was = { ...bead };
    if (was.status === 'closed' && step.status === 'in_progress') throw new Refused('wrong_state');
    this.#change(bead.id, () => this.#write(bead, step));
    const handedOver =
      bead.assignee !== was.assignee ||
      (was.status === 'closed' && bead.status === 'open') ||
      (was.leaseMs !== undefined && bead.status === 'open');
    if (handedOver) bead.fence++;
    if (handedOver || bead.status !== 'in_progress') bead.leaseMs = undefined;
    if (step.leaseMs !== undefined) {
      if (bead.status !== 'in_progress' || bead.assignee === undefined) throw new Refused('invalid');
      bead.leaseMs = step.leaseMs;
    }
    if (was.status !== 'closed' && bead.status === 'closed') this.#closed(bead);
    const left = was.status === 'closed' || was.parent === bead.parent ? undefined : this.beads.get(was.parent ?? '');
    const letGo = was.labels.includes('owned') && !bead.labels.includes('owned');
    for (const it of [left, letGo ? bead : undefined]) if (it?.type === 'convoy' && isCompleted(this.beads, it)) this.#close(it, COMPLETED);
    return bead.id;
  }

  #write(bead: ModelBead, step: UpdateStep): void {
    if (bead.status === 'closed' && step.status === 'open') bead.metadata.delete('close_reason');
    if (step.title !== undefined) bead.title = step.title;
    if (step.description !== undefined) bead.description = step.description || undefined;
    if (step.type !== undefined) bead.type = step.type;
    if (step.status !== undefined) bead.status = step.status;
    if (step.priority !== undefined) bead.priority = step.priority;
    if (step.assignee !== undefined) {
      if (bead.assignee !== undefined && bead.assignee !== (step.assignee || undefined))
        for (const stamp of ['gc.session_id', 'gc.session_name']) bead.metadata.delete(stamp);
      bead.assignee = step.assignee || undefined;
    }
    if (step.parent !== undefined) bead.parent = step.parent === null ? undefined : idOf(this.ids, step.parent);
    if (step.defer !== undefined) bead.defer = step.defer === null ? undefined : DEFERRALS[step.defer];
    const labels = new Set(step.labels ?? bead.labels);
    for (const label of step.addLabels ?? []) labels.add(label);
    for (const label of step.removeLabels ?? []) labels.delete(label);
    // A set: the same members in another order are no change.
    if (!isDeepStrictEqual(labels, new Set(bead.labels))) bead.labels = [...labels];
    for (const [key, value] of Object.entries(step.metadata ?? {})) {
      if (value === '') bead.metadata.delete(key);
      else bead.metadata.set(key, value);
    }
  }

  #close(bead: ModelBead, reason?: string): string {
    if (bead.status === 'closed') return bead.id;
    const metadata = reason === undefined ? undefined : { close_reason: reason };
    return this.#update(bead, { kind: 'update', bead: NOBODY, status: 'closed', metadata });
  }

  #closed(bead: ModelBead): void {
    for (const it of closedConvoys(this.beads, bead)) {
      if (it.tell) this.#touched.push({ type: 'convoy.closed', ...this.#envelope(it.convoy), message: it.convoy.title, payload: it.tell });
      else this.#close(it.convoy, COMPLETED);
    }
  }

  #remove(bead: ModelBead): void {
    const convoys = bead.status === 'closed' ? [] : convoysAround(this.beads, bead);
    const dependents = [...this.beads.values()].filter((other) => other.needs.has(bead.id));
    for (const other of dependents.sort(byId)) this.#change(other.id, () => other.needs.delete(bead.id));
    this.#change(bead.id, () => this.beads.delete(bead.id));
    for (const convoy of convoys) if (isCompleted(this.beads, convoy)) this.#close(convoy, COMPLETED);
  }

  #putEdges(from: Ref, to: readonly Ref[], type: string): boolean {
    const bead = this.#get(from);
    const others = to.map((ref) => this.#get(ref));
    if (others.includes(bead)) throw new Refused('invalid');
    return this.#change(bead.id, () => others.forEach((other) => bead.needs.set(other.id, type)));
  }

  #deleteEdges(bead: ModelBead, to: readonly Ref[]): boolean {
    return this.#change(bead.id, () => to.forEach((ref) => bead.needs.delete(idOf(this.ids, ref))));
  }

  /** Makes one change: whoever looks different afterwards has a new revision and will have an event, `first` before the others. True when `first` does. */
  #change(first: string, make: () => void): boolean {
    const before = this.#views();
    make();
    const after = this.#views();
    const others = [...new Set([...before.keys(), ...after.keys()])].filter((id) => id !== first).sort();
    for (const id of [first, ...others]) {
      if (isDeepStrictEqual(before.get(id), after.get(id))) continue;
      if (before.has(id) && after.has(id)) this.beads.get(id)!.revision++;
      if (!this.#touched.includes(id)) this.#touched.push(id);
    }
    return !isDeepStrictEqual(before.get(first), after.get(first));
  }

  #views(): Map<string, View> {
    return new Map([...this.beads.values()].map((bead) => [bead.id, viewOf(this.beads, bead)]));
  }

  #eventsOf(id: string): ModelEvent[] {
    const [was, is] = [this.#atBegin.get(id), this.beads.get(id)];
    const bead = is ?? was;
    if (bead === undefined) return [];
    const closed = is?.status === 'closed' && was?.status !== 'closed';
    const type = is === undefined ? 'deleted' : was === undefined ? 'created' : closed ? 'closed' : 'updated';
    return [
      { type: `bead.${type}`, ...this.#envelope(bead), message: null, bead: viewOf(is === undefined ? this.#atBegin : this.beads, bead) },
    ];
  }

  #envelope({ id, metadata }: ModelBead): Pick<ModelEvent, 'subject' | 'run_id' | 'session_id' | 'step_id'> {
    return {
      subject: id,
      run_id: metadata.get('workflow_id') ?? metadata.get('molecule_id') ?? metadata.get('gc.root_bead_id') ?? id,
      session_id: metadata.get('gc.session_id') ?? null,
      step_id: metadata.get('gc.step_id') ?? null,
    };
  }
}

const byId = (a: ModelBead, b: ModelBead): number => (a.id < b.id ? -1 : 1);
