import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { LoggedEvent, Session } from '../api/types.js';
import { asOf, LiveList, type Page } from './list.js';
import { SessionEvents } from './session-events.js';

/** A service: sessions, the beads that they hold, and the log that tells of them as the real one does. */
class Service {
  readonly sessions = new Map<string, Session>();
  /** Beads in progress, by who holds them, those changed last at the end. */
  readonly held = new Map<string, string[]>();
  readonly log: LoggedEvent[] = [];
  /** Where its epoch of the log begins. */
  epoch = 0;
  #made = 0;
  #beads = 0;

  get head(): number {
    return this.epoch + this.log.length;
  }

  create(): void {
    const id = `s${String(++this.#made).padStart(3, '0')}`;
    this.#change({ id, title: id, state: 'active', created_at: id } as Session, 'session.created');
  }
  change(nth: number): void {
    const session = this.#nth(nth);
    if (session !== undefined) this.#change({ ...session, title: `${session.title}.` }, 'session.turn.ended');
  }
  /** So long that its events leave it out. */
  grow(nth: number): void {
    const session = this.#nth(nth);
    if (session !== undefined) this.#change({ ...session, title: `${session.title}!` }, 'session.updated', false);
  }
  close(nth: number): void {
    const session = this.#nth(nth);
    if (session === undefined) return;
    for (const bead of this.held.get(session.id) ?? []) this.#bead(bead, 'open', '');
    this.held.delete(session.id);
    this.#change({ ...session, state: 'closed' }, 'session.closed');
  }
  claim(nth: number): void {
    const session = this.#nth(nth);
    if (session === undefined) return;
    const bead = `b${++this.#beads}`;
    this.held.set(session.id, [...(this.held.get(session.id) ?? []), bead]);
    this.#bead(bead, 'in_progress', session.id);
  }
  finish(nth: number): void {
    const session = this.#nth(nth);
    const bead = session && this.held.get(session.id)?.pop();
    if (bead !== undefined) this.#bead(bead, 'closed', session!.id);
  }
  reload(): void {
    for (const [id, session] of this.sessions) this.sessions.set(id, { ...session, display_name: `r${this.log.length}` });
    this.#append({ type: 'config.reloaded', payload: {} });
  }

  get(id: string): Session | undefined {
    const session = this.sessions.get(id);
    const bead = this.held.get(id)?.at(-1);
    return session && (bead === undefined ? session : { ...session, active_bead: bead });
  }
  open(): Session[] {
    return [...this.sessions.keys()].map((id) => this.get(id)!).filter(({ state }) => state !== 'closed');
  }
  page(after: string | undefined, size: number): Page<Session> {
    const rest = this.open().filter(({ id }) => after === undefined || id > after);
    const items = rest.slice(0, size);
    return { items, total: this.open().length, next: rest.length > size ? items.at(-1)!.id : undefined, index: this.head };
  }
  #nth(nth: number): Session | undefined {
    return this.open()[nth % Math.max(1, this.open().length)];
  }
  #change(session: Session, type: string, tells = true): void {
    const { active_bead: _, ...row } = session;
    const before = this.sessions.has(row.id) ? this.log.length : -1;
    this.sessions.set(row.id, row);
    // Who writes it may not have seen what was committed with a bead right before.
    const seen = before % 2 === 0 ? this.get(row.id)! : row;
    this.#append({ type, subject: row.id, session_id: row.id, payload: tells ? { session_id: row.id, session: seen } : {} });
  }
  #bead(id: string, status: string, holder: string): void {
    this.#append({
      type: `bead.${status === 'closed' ? 'closed' : 'updated'}`,
      subject: id,
      payload: { bead: { id, status, revision: 1, metadata: { 'gc.session_id': holder } } },
    });
  }
  #append(event: Pick<LoggedEvent, 'type' | 'payload'> & Partial<LoggedEvent>): void {
    this.log.push({ seq: this.head + 1, ts: '', actor: 'x', ...event });
  }
}

type Step =
  | 'create'
  | 'change'
  | 'grow'
  | 'close'
  | 'claim'
  | 'finish'
  | 'reload'
  | 'deliver'
  | 'duplicate'
  | 'look'
  | 'page'
  | 'fail'
  | 'read'
  | 'lose';
const OFTEN = [
  'create',
  'change',
  'change',
  'grow',
  'close',
  'claim',
  'claim',
  'finish',
  'deliver',
  'deliver',
  'deliver',
  'look',
  'page',
  'read',
] as const;
/** What has everything read again hides what went wrong before. */
const STEPS: readonly Step[] = [...OFTEN, ...OFTEN, ...OFTEN, 'reload', 'duplicate', 'fail', 'lose'];
const MADE = ['create', 'change', 'grow', 'close', 'claim', 'finish', 'reload'] as const;
const isMade = (step: Step): step is (typeof MADE)[number] => (MADE as readonly Step[]).includes(step);

class Client {
  readonly list: LiveList<Session>;
  readonly events: SessionEvents;
  readonly wanted = new Set<string>();
  readonly #asked: ((fails: boolean) => void)[] = [];
  readonly #answers: (() => void)[] = [];
  readonly #reading: Promise<void>[] = [];

  constructor(private readonly service: Service) {
    this.list = new LiveList<Session>({
      read: async (cursor) => {
        // The service looks before the answer comes, and things happen in between.
        const looked = new Promise<Page<Session>>((resolve, reject) => {
          this.#asked.push((fails) => (fails ? reject(new Error('away')) : resolve(service.page(cursor, 2))));
        });
        const page = await looked;
        await new Promise<void>((resolve) => this.#answers.push(resolve));
        return { ...page, items: this.events.read(page.items, page.index!) };
      },
      id: ({ id }) => id,
      matches: ({ state }) => state !== 'closed',
      order: (a, b) => a.id.localeCompare(b.id),
      schedule: () => undefined,
    });
    this.events = new SessionEvents(
      this.list,
      (id) => this.wanted.add(id),
      () => this.read(),
    );
  }
  read(): void {
    this.#reading.push(this.list.read());
  }
  async look(fails = false): Promise<void> {
    this.#asked.shift()?.(fails);
    await new Promise(setImmediate);
  }
  async answer(): Promise<void> {
    this.#answers.shift()?.();
    await new Promise(setImmediate);
  }
  /** One that an event was too short for. */
  one(): void {
    const [id] = this.wanted;
    if (id === undefined) return;
    this.wanted.delete(id);
    const session = this.service.get(id);
    const index = this.service.head;
    if (session === undefined) this.list.remove(id);
    else this.list.put(this.events.read([session], index)[0]!, asOf(index));
  }
  async settle(): Promise<void> {
    while (this.#asked.length + this.#answers.length > 0) {
      await this.look();
      await this.answer();
    }
    await Promise.all(this.#reading.splice(0));
    while (this.wanted.size > 0) this.one();
    this.list.flush();
  }
}

describe('the events of sessions', () => {
  it('keep a list as the service has it, whatever comes between', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(5),
        fc.array(fc.tuple(fc.constantFrom(...STEPS), fc.nat(20)), { maxLength: 80, size: 'max' }),
        async (before, steps) => {
          const service = new Service();
          for (let n = 0; n < before; n++) service.create();
          const client = new Client(service);
          let delivered = service.log.length;
          let joined = delivered;
          client.read();
          for (const [step, nth] of steps) {
            if (isMade(step)) service[step](nth);
            else if (step === 'deliver' && delivered < service.log.length) client.events.apply(service.log[delivered++]!);
            else if (step === 'duplicate' && delivered > joined) client.events.apply(service.log[joined + (nth % (delivered - joined))]!);
            else if (step === 'look') await client.look();
            else if (step === 'page') await client.answer();
            else if (step === 'fail') await client.look(true);
            else if (step === 'read') client.one();
            else if (step === 'lose') {
              joined = delivered = service.log.length;
              client.read();
            }
          }
          while (delivered < service.log.length) client.events.apply(service.log[delivered++]!);
          await client.settle();
          // A read that has failed is made again, as whoever looks asks for it.
          if (client.list.snapshot().error !== undefined) client.read();
          await client.settle();
          expect(client.list.snapshot().rows).toEqual(service.open());
        },
      ),
      { numRuns: 500, seed: 26 },
    );
  });

  it('ask for nothing where they tell the session', async () => {
    const service = new Service();
    const client = new Client(service);
    client.read();
    await client.settle();
    for (const step of ['create', 'change', 'claim', 'create', 'change', 'claim', 'change'] as const) service[step](0);
    service.close(1);
    for (const event of service.log) client.events.apply(event);
    expect([...client.wanted]).toEqual([]);
    client.list.flush();
    expect(client.list.snapshot().rows).toEqual(service.open());
  });

  it('begin anew where the service goes on from a backup', async () => {
    const service = new Service();
    for (let n = 0; n < 3; n++) service.create();
    const client = new Client(service);
    client.read();
    await client.settle();
    const before = [...service.sessions];
    service.change(0);
    service.create();
    for (const event of service.log.splice(3)) client.events.apply(event);
    client.list.remove('s002');
    for (const id of service.sessions.keys()) service.sessions.delete(id);
    for (const [id, session] of before) service.sessions.set(id, session);
    service.epoch = 1_000_000;
    client.list.doubt();
    client.read();
    await client.settle();
    expect(client.list.snapshot().rows).toEqual(service.open());
  });
});
