import type { BeadView } from './history-work.js';
import type { Row, WorkWorld } from './model-work-world.js';

/** Runs of the model: a root with steps, one of which may be tried again. */
export class ModelRuns {
  /** Roots whose first step has been tried again: that bead may have been removed since. */
  readonly #retried = new Set<Row>();

  constructor(
    private readonly work: WorkWorld,
    private readonly close: (city: string, row: Row) => void,
  ) {}

  launch(city: string): void {
    const marker = this.work.marker();
    const key = { key: `k-${marker}` };
    const root = this.work.insert(city, { title: marker, metadata: { 'gc.formula_name': 'f' } });
    for (const ref of ['f.a.attempt.1', 'f.b']) this.#step(city, root, ref);
    this.work.tell(marker, { kind: 'run.launch', city, ...key }, { body: root.bead });
  }

  #step(city: string, root: Row, ref: string): void {
    const { world } = this.work;
    const made = (): Row => this.work.insert(city, { title: ref, metadata: { 'gc.root_bead_id': root.bead.id, 'gc.step_ref': ref } });
    made();
    if (world.is('step made twice')) made();
  }

  /** A step has been closed: there is another attempt, or the run may be over. */
  closed(city: string, step: BeadView): void {
    const { world } = this.work;
    const { beads } = this.work.of(city);
    const root = beads.get(step.metadata?.['gc.root_bead_id'] ?? '');
    if (root === undefined || root.bead.status === 'closed') return;
    const steps = [...beads.values()].filter(({ bead }) => bead.metadata?.['gc.root_bead_id'] === root.bead.id);
    const { random } = world;
    if (step.metadata?.['gc.step_ref'] === 'f.a.attempt.1' && random.chance(0.5) && !this.#retried.has(root)) {
      this.#retried.add(root);
      this.#step(city, root, world.is('attempt skipped') ? 'f.a.attempt.3' : 'f.a.attempt.2');
      return;
    }
    if (steps.some(({ bead }) => bead.status !== 'closed')) return;
    if (!world.is('run that never ends')) this.end(city, root);
  }

  /** Somebody has closed the root, or nothing is left: the rest is closed with it. */
  end(city: string, root: Row): void {
    const { world } = this.work;
    if (root.bead.status !== 'closed') this.close(city, root);
    const steps = [...this.work.of(city).beads.values()].filter(({ bead }) => bead.metadata?.['gc.root_bead_id'] === root.bead.id);
    for (const row of steps) if (row.bead.status !== 'closed' && !world.is('step open under a run that has ended')) this.close(city, row);
    if (world.is('run goes on after its end')) this.work.change(city, root, { status: 'open' });
  }

  /** Whether a bead may be opened again: a root, or a step of a run that has ended, may not. */
  mayReopen(city: string, { metadata = {} }: BeadView): boolean {
    const root = this.work.of(city).beads.get(metadata['gc.root_bead_id'] ?? '');
    return metadata['gc.formula_name'] === undefined && root?.bead.status !== 'closed';
  }
}
