import type { BeadView, Change, Claimant, MessageView, WorkView } from './history-work.js';
import type { World } from './model-world.js';

export interface Row {
  bead: BeadView;
  fence: number;
  holder?: Claimant;
  leaseUntil?: number;
}
export interface Mailed {
  message: MessageView;
  archived: boolean;
}
export interface Rows {
  readonly beads: Map<string, Row>;
  readonly mail: Map<string, Mailed>;
  ids: number;
}

type Asked = Pick<Change, 'kind' | 'city' | 'subject' | 'others' | 'type' | 'metadata' | 'claimant' | 'fence' | 'expected' | 'key'>;
interface Told {
  readonly body?: object;
  readonly revision?: number;
  readonly refused?: number;
}

/** The rows of the model's cities, their events, and what is answered about them. */
export class WorkWorld {
  readonly #cities = new Map<string, Rows>();
  #serial = 0;

  constructor(readonly world: World) {}

  of(city: string): Rows {
    let rows = this.#cities.get(city);
    if (rows === undefined) this.#cities.set(city, (rows = { beads: new Map(), mail: new Map(), ids: 0 }));
    return rows;
  }

  marker(): string {
    return `w${++this.#serial}`;
  }

  iso(at: number): string {
    return new Date(Date.UTC(2026, 0) + at).toISOString();
  }

  append(city: string, type: string, subject: string, payload: object, actor = 'api'): void {
    this.world.log.append(city, type, { subject, payload, actor, ts: this.iso(this.world.now) });
  }

  bead(city: string, which: (row: Row) => boolean = () => true): Row | undefined {
    const rows = [...this.of(city).beads.values()].filter(which);
    return rows.length === 0 ? undefined : this.world.random.pick(rows);
  }

  insert(city: string, members: Partial<BeadView>): Row {
    const id = `b-${++this.of(city).ids}`;
    const bead: BeadView = { id, title: '', status: 'open', issue_type: 'task', is_blocked: false, ...members, revision: 1 };
    const row: Row = { bead, fence: 0 };
    if (!this.world.is('event of a rolled back create')) this.of(city).beads.set(id, row);
    this.append(city, 'bead.created', id, { bead });
    return row;
  }

  /** Changes a bead with its event. A member that becomes undefined is gone. */
  change(city: string, row: Row, members: Partial<Record<keyof BeadView, unknown>>, actor = 'api'): void {
    const { world } = this;
    const before = row.bead;
    const text = JSON.stringify({ ...before, ...members, revision: before.revision + 1, updated_at: this.iso(world.now) });
    const after = JSON.parse(text) as BeadView;
    if (!world.is('event of a rolled back change', 0.1)) row.bead = after;
    if (world.is('change without an event', 0.1)) return;
    const type = before.status !== 'closed' && after.status === 'closed' ? 'bead.closed' : 'bead.updated';
    this.append(city, type, after.id, { bead: after }, actor);
    if (world.is('event told twice', 0.1)) this.append(city, type, after.id, { bead: after }, actor);
    if (world.is('event without a change', 0.1)) this.change(city, row, {}, actor);
  }

  /** Records an attempt and its repeats; now and then no answer arrives. */
  tell(marker: string, asked: Asked, { body = {}, revision, refused }: Told): void {
    const { world } = this;
    const attempt = (): void => {
      const from = world.now;
      world.now += world.random.int(1, 9);
      const common = { ...asked, marker, replica: world.random.pick(world.replicas).name, from, to: world.now };
      const index = world.log.stream(asked.city).rows.length;
      const { changes } = world.history;
      if (refused !== undefined)
        changes.push({ ...common, outcome: 'refused', status: refused, body: JSON.stringify(body), problem: true });
      else if (world.random.chance(0.1)) changes.push({ ...common, outcome: 'unknown' });
      else {
        const answer = { outcome: 'acknowledged', status: 200, body: JSON.stringify(body), index } as const;
        changes.push({ ...common, ...answer, ...(revision === undefined ? {} : { revision }) });
      }
    };
    attempt();
    if (asked.key !== undefined && world.random.chance(0.5)) attempt();
  }

  look(city: string): void {
    const { world } = this;
    const revisions = Object.fromEntries([...this.of(city).beads.values()].map(({ bead }) => [bead.id, bead.revision]));
    const head = world.log.stream(city).rows.length;
    const behind = world.is('index ahead of its list', 0.2) ? world.random.int(1, 3) : 0;
    const ahead = world.is('index behind its list', 0.2) ? -world.random.int(1, 3) : 0;
    world.history.views.push({ city, source: 'a', index: Math.max(0, head + behind + ahead), at: world.now, revisions });
  }

  /** What rows and lists are at the end. */
  final(): void {
    const { world } = this;
    for (const [city, rows] of this.#cities) {
      const beads = [...rows.beads.values()].map((row) => row.bead);
      const isClosed = (id: string): boolean => rows.beads.get(id)?.bead.status === 'closed';
      const open = (bead: BeadView): number =>
        (bead.dependencies ?? []).filter((d) => d.type === 'blocks' && !isClosed(d.depends_on_id)).length;
      const wrong = (): number => (world.is('blockers miscounted') ? 1 : 0);
      const blockers = Object.fromEntries(beads.map((bead) => [bead.id, open(bead) + wrong()]));
      const letters = [...rows.mail.values()];
      const mail = letters.filter((letter) => !letter.archived).map((letter) => letter.message);
      const archived = letters.filter((letter) => letter.archived).map((letter) => letter.message);
      const common = { city, source: 'rows', index: world.log.stream(city).rows.length, at: world.now };
      const unread = mail.filter((message) => !message.read).length + (world.is('mail miscounted') ? 1 : 0);
      const listed = world.is('bead lost between pages') ? beads.slice(1) : beads;
      const views: WorkView[] = [
        { ...common, beads, blockers, mail, archived },
        { ...common, source: 'a', beads: listed },
        { ...common, source: 'b', counts: { total: mail.length, unread } },
      ];
      world.history.views.push(...views);
    }
  }
}
