import type { Claimant } from './history-work.js';
import type { Row, WorkWorld } from './model-work-world.js';
import type { World } from './model-world.js';

const CLAIMANTS: readonly Claimant[] = [{ agent: 'mayor-1' }, { agent: 'mayor-2' }, { agent: 'mayor', session: 's-1' }];
const LEASE_MS = 1_000;

/** Those who claim the model's beads, keep them, give them back, or let their leases end. */
export class ModelClaims {
  readonly #world: World;

  constructor(private readonly work: WorkWorld) {
    this.#world = work.world;
  }

  step(city: string): void {
    this.#expire(city);
    const next = this.#world.random.next();
    if (next < 0.5) this.#claim(city);
    else if (next < 0.8) this.#beat(city);
    else this.#release(city);
  }

  #claim(city: string): void {
    const world = this.#world;
    const row = this.work.bead(city, ({ bead }) => bead.status !== 'closed' && bead.issue_type === 'task' && bead.is_blocked !== true);
    if (row === undefined) return;
    const claimant = world.random.pick(CLAIMANTS);
    const asked = { kind: 'bead.claim', city, subject: row.bead.id, claimant } as const;
    const marker = this.work.marker();
    const other = row.holder !== undefined && row.holder !== claimant && row.bead.status === 'in_progress';
    if (other && !world.is('claim of what another holds')) {
      const payload = { bead_id: row.bead.id, existing_claimant: row.holder!.agent, attempted_claimant: claimant.agent };
      if (!world.is('loser not on record')) this.work.append(city, 'bead.claim_rejected', row.bead.id, payload, claimant.agent);
      return this.work.tell(marker, asked, { refused: 409, body: { title: 'Owned By Another' } });
    }
    const claimed = row.holder !== claimant || row.bead.status !== 'in_progress';
    if (claimed) this.#take(city, row, claimant);
    row.leaseUntil = world.now + LEASE_MS;
    const { bead, fence } = row;
    this.work.tell(marker, asked, { body: { bead, claimed, fence, lease_until: this.work.iso(row.leaseUntil) } });
  }

  #take(city: string, row: Row, claimant: Claimant): void {
    row.fence++;
    row.holder = claimant;
    const session = claimant.session === undefined ? {} : { 'gc.session_id': claimant.session };
    const members = { status: 'in_progress', assignee: claimant.agent, metadata: { ...without(row), ...session } };
    this.work.change(city, row, members, claimant.agent);
  }

  #beat(city: string): void {
    const row = this.#held(city);
    if (row === undefined) return;
    row.leaseUntil = this.#world.now + LEASE_MS;
    const { bead, holder, fence } = row;
    const asked = { kind: 'bead.heartbeat', city, subject: bead.id, claimant: holder!, fence } as const;
    this.work.tell(this.work.marker(), asked, { body: { fence, lease_until: this.work.iso(row.leaseUntil) } });
  }

  #release(city: string): void {
    const row = this.#held(city);
    if (row === undefined) return;
    const asked = { kind: 'bead.release', city, subject: row.bead.id, claimant: row.holder!, fence: row.fence } as const;
    this.#open(city, row, 'api');
    this.work.tell(this.work.marker(), asked, {});
  }

  #expire(city: string): void {
    const early = this.#world.is('live lease taken back') ? LEASE_MS : 0;
    for (const row of this.work.of(city).beads.values()) {
      if (row.leaseUntil === undefined || row.leaseUntil - early >= this.#world.now) continue;
      this.#open(city, row, 'reconciler');
      if (!this.#world.is('end of a lease not told'))
        this.work.append(city, 'bead.dead_assignee_reopened', row.bead.id, { bead_id: row.bead.id }, 'reconciler');
    }
  }

  #open(city: string, row: Row, actor: string): void {
    delete row.leaseUntil;
    delete row.holder;
    if (this.#world.is('fence given twice')) row.fence--;
    else row.fence++;
    this.work.change(city, row, { status: 'open', assignee: undefined, metadata: without(row) }, actor);
  }

  #held(city: string): Row | undefined {
    return this.work.bead(city, (row) => row.leaseUntil !== undefined && row.bead.status === 'in_progress');
  }
}

function without({ bead }: Row): Record<string, string> {
  const { 'gc.session_id': _session, ...rest } = bead.metadata ?? {};
  return rest;
}
