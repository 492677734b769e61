import type { BeadView } from './history-work.js';
import { ModelClaims } from './model-claims.js';
import { ModelMail } from './model-mail.js';
import { ModelRuns } from './model-runs.js';
import { WorkWorld, type Row } from './model-work-world.js';
import type { World } from './model-world.js';

/** Those who work in the model's cities: beads, edges and convoys here, claims and mail in rooms of their own. */
export class ModelWork {
  readonly #work: WorkWorld;
  readonly #claims: ModelClaims;
  readonly #mail: ModelMail;
  readonly #runs: ModelRuns;

  constructor(private readonly world: World) {
    this.#work = new WorkWorld(world);
    this.#claims = new ModelClaims(this.#work);
    this.#mail = new ModelMail(this.#work);
    this.#runs = new ModelRuns(this.#work, (city, row) => this.#closeNow(city, row));
  }

  step(): void {
    const running = [...this.world.running].sort();
    if (running.length === 0) return;
    const city = this.world.random.pick(running);
    const next = this.world.random.next();
    if (next < 0.16) this.#create(city);
    else if (next < 0.3) this.#update(city);
    else if (next < 0.4) this.#edge(city);
    else if (next < 0.54) this.#close(city);
    else if (next < 0.58) this.#reopen(city);
    else if (next < 0.6) this.#remove(city);
    else if (next < 0.65) this.#convoy(city);
    else if (next < 0.68) this.#runs.launch(city);
    else if (next < 0.84) this.#claims.step(city);
    else if (next < 0.94) this.#mail.step(city);
    else this.#work.look(city);
  }

  final(): void {
    this.#work.final();
  }

  #create(city: string): void {
    const { world } = this;
    const marker = this.#work.marker();
    const key = world.random.chance(0.6) ? { key: `k-${marker}` } : {};
    const asked = { kind: 'bead.create', city, ...key } as const;
    if (world.random.chance(0.05)) {
      if (world.is('refused create carried out', 0.8)) this.#work.insert(city, { title: marker });
      return this.#work.tell(marker, asked, { refused: 404 });
    }
    const { bead } = this.#work.insert(city, { title: marker });
    if (key.key !== undefined && world.is('made twice under a key')) this.#work.insert(city, { title: marker });
    const lost = world.is('create lost after its answer');
    this.#work.tell(marker, asked, { body: lost ? { ...bead, id: 'b-0' } : bead });
  }

  #update(city: string): void {
    const { world } = this;
    const row = this.#work.bead(city);
    if (row === undefined) return;
    const marker = this.#work.marker();
    const metadata = { [`chaos.${world.random.int(1, 3)}`]: marker };
    const stale = world.random.chance(0.2) && row.bead.revision > 1;
    const expected = stale ? row.bead.revision - 1 : world.random.chance(0.4) ? row.bead.revision : undefined;
    const asked = { kind: 'bead.update', city, subject: row.bead.id, metadata, ...(expected === undefined ? {} : { expected }) } as const;
    if (stale && !world.is('If-Match ignored', 0.9)) {
      if (world.is('refused change carried out')) this.#work.change(city, row, { metadata: { ...row.bead.metadata, ...metadata } });
      return this.#work.tell(marker, asked, { refused: 412 });
    }
    const kept = world.is('metadata of another overwritten') ? {} : row.bead.metadata;
    if (world.is('update acknowledged and lost')) return this.#work.tell(marker, asked, { revision: row.bead.revision + 1 });
    this.#work.change(city, row, { metadata: { ...kept, ...metadata } });
    this.#work.tell(marker, asked, { revision: row.bead.revision });
  }

  /** Towards older beads only, so that there are no circles. */
  #edge(city: string): void {
    const isOrdinary = (row: Row): boolean => row.bead.issue_type === 'task';
    const [one, other] = [this.#work.bead(city, isOrdinary), this.#work.bead(city, isOrdinary)];
    if (one === undefined || other === undefined || one === other) return;
    const [issue, target] = number(one) > number(other) ? [one, other] : [other, one];
    const edges = issue.bead.dependencies ?? [];
    const had = edges.some((d) => d.depends_on_id === target.bead.id);
    const type = this.world.random.pick(['blocks', 'blocks', 'related']);
    const rest = edges.filter((d) => d.depends_on_id !== target.bead.id);
    const added = { issue_id: issue.bead.id, depends_on_id: target.bead.id, type };
    const asked = { city, subject: issue.bead.id, others: [target.bead.id] };
    if (!had) this.#depend(city, issue, [...rest, added]);
    else this.#depend(city, issue, rest);
    this.#work.tell(this.#work.marker(), had ? { kind: 'edge.remove', ...asked } : { kind: 'edge.add', ...asked, type }, {});
  }

  #depend(city: string, row: Row, dependencies: BeadView['dependencies']): void {
    const rows = this.#work.of(city).beads;
    const blocked = dependencies!.some((d) => d.type === 'blocks' && rows.get(d.depends_on_id)?.bead.status !== 'closed');
    this.#work.change(city, row, { dependencies: dependencies!.length === 0 ? undefined : dependencies, is_blocked: blocked });
  }

  #close(city: string): void {
    const row = this.#work.bead(city, ({ bead }) => bead.status !== 'closed');
    if (row === undefined) return;
    this.#closeNow(city, row);
    this.#work.tell(this.#work.marker(), { kind: 'bead.close', city, subject: row.bead.id }, { revision: row.bead.revision });
  }

  #closeNow(city: string, row: Row): void {
    delete row.leaseUntil;
    this.#work.change(city, row, { status: 'closed' });
    if (row.bead.issue_type === 'convoy') this.#told(city, row.bead);
    this.#unblock(city, row.bead.id);
    for (const convoy of [...this.#work.of(city).beads.values()]) {
      if (convoy.bead.issue_type !== 'convoy' || convoy.bead.status !== 'open') continue;
      const members = (convoy.bead.dependencies ?? []).map((d) => this.#work.of(city).beads.get(d.depends_on_id)?.bead);
      const complete = members.some((m) => m?.id === row.bead.id) && members.every((m) => m?.status === 'closed');
      if (complete && !this.world.is('complete convoy stays open')) this.#closeNow(city, convoy);
    }
    if (row.bead.metadata?.['gc.formula_name'] !== undefined) this.#runs.end(city, row);
    this.#runs.closed(city, row.bead);
  }

  #told(city: string, convoy: BeadView): void {
    const { world } = this;
    if (world.is('closing of a convoy not told')) return;
    this.#work.append(city, 'convoy.closed', convoy.id, {});
    if (world.is('closing of a convoy told twice')) this.#work.append(city, 'convoy.closed', convoy.id, {});
    if (convoy.metadata?.['convoy.notify'] === undefined) return;
    this.#mail.deliver(city, `Convoy ${convoy.id} closed: ${convoy.title}`);
    if (world.is('notice sent twice')) this.#mail.deliver(city, `Convoy ${convoy.id} closed: ${convoy.title}`);
  }

  /** Those that depend on `id` are blocked by what else they depend on, or no longer. */
  #unblock(city: string, id: string): void {
    for (const row of [...this.#work.of(city).beads.values()]) {
      const { dependencies = [], is_blocked: was } = row.bead;
      if (!dependencies.some((d) => d.depends_on_id === id && d.type === 'blocks')) continue;
      const blocked = dependencies.some((d) => {
        return d.type === 'blocks' && this.#work.of(city).beads.get(d.depends_on_id)?.bead.status !== 'closed';
      });
      if (blocked !== was && !this.world.is('dependent not told')) this.#work.change(city, row, { is_blocked: blocked });
    }
  }

  #reopen(city: string): void {
    const row = this.#work.bead(city, ({ bead }) => bead.status === 'closed' && this.#runs.mayReopen(city, bead));
    if (row === undefined) return;
    row.fence++;
    this.#work.change(city, row, { status: 'open' });
    this.#unblock(city, row.bead.id);
    this.#work.tell(this.#work.marker(), { kind: 'bead.reopen', city, subject: row.bead.id }, { revision: row.bead.revision });
  }

  #remove(city: string): void {
    const rows = this.#work.of(city).beads;
    const used = new Set([...rows.values()].flatMap(({ bead }) => (bead.dependencies ?? []).map((d) => d.depends_on_id)));
    const row = this.#work.bead(city, ({ bead }) => !used.has(bead.id));
    if (row === undefined) return;
    rows.delete(row.bead.id);
    this.#work.append(city, 'bead.deleted', row.bead.id, { bead: row.bead });
    if (this.world.is('removed bead comes back', 0.8)) {
      rows.set(row.bead.id, row);
      return this.#work.change(city, row, { title: 'again' });
    }
    this.#runs.closed(city, row.bead);
    this.#work.tell(this.#work.marker(), { kind: 'bead.remove', city, subject: row.bead.id }, {});
  }

  #convoy(city: string): void {
    const { random } = this.world;
    const members = [this.#work.bead(city), this.#work.bead(city)].filter((row) => row?.bead.issue_type === 'task');
    const marker = this.#work.marker();
    const metadata = random.chance(0.5) ? { metadata: { 'convoy.notify': 'human' } } : {};
    const id = `b-${this.#work.of(city).ids + 1}`;
    const dependencies = [...new Set(members)].map((m) => ({ issue_id: id, depends_on_id: m!.bead.id, type: 'tracks' }));
    const links = dependencies.length === 0 ? {} : { dependencies };
    const { bead } = this.#work.insert(city, { title: marker, issue_type: 'convoy', ...metadata, ...links });
    this.#work.append(city, 'convoy.created', id, {});
    this.#work.tell(marker, { kind: 'convoy.create', city, key: `k-${marker}` }, { body: bead });
  }
}

function number({ bead }: Row): number {
  return Number(bead.id.slice(2));
}
