import { sql } from 'kysely';
import { ANYBODY } from '../../../../contract/principal.js';
import type { DuePoller } from '../../../../platform/database/due-poller.js';
import { Idempotency } from '../../../../platform/idempotency/idempotency.js';
import { IdempotencyRepository } from '../../../../platform/idempotency/idempotency.repository.js';
import { AppLogger, createLogger } from '../../../../platform/logging/logger.js';
import { workFixture, type WorkFixture } from '../../../../../test/support/work.js';
import { RosterRepository } from '../../../configuration/roster/roster.repository.js';
import { RosterService } from '../../../configuration/roster/roster.service.js';
import type { WorkService } from '../../work/work.service.js';
import { WaitExpiryRepository } from '../wait-expiry.repository.js';
import { WaitReadsService } from '../wait-reads.service.js';
import { WaitsReconciler } from '../waits.reconciler.js';
import { WaitsRepository } from '../waits.repository.js';
import { WaitCreateInputBody, type WaitListBody, type WaitsQuery, type WaitView } from '../waits.schemas.js';
import { WaitsService } from '../waits.service.js';

export interface WaitFixture {
  readonly fixture: WorkFixture;
  readonly waits: WaitsService;
  readonly reads: WaitReadsService;
  /** Another process's. */
  serviceOn(work: WorkService): WaitsService;
  reconcilerOn(work: WorkService): WaitsReconciler;
  /** Ids of new open beads. */
  beads(n: number): Promise<string[]>;
  /** A wait of the agent `mayor` unless `more` says otherwise. */
  create(depIds: readonly string[], more?: object, at?: WaitsService): Promise<WaitView>;
  close(id: string, work?: WorkService): Promise<void>;
  remove(id: string): Promise<void>;
  get(id: string): Promise<WaitView>;
  list(query?: Partial<WaitsQuery>): Promise<WaitListBody>;
  /** Lets the time of a wait be over. */
  letDue(id: string): Promise<void>;
  /** The states that the events of a wait tell, each change once. */
  told(id: string): Promise<string[]>;
  /** From now on nobody waits for another's transaction on the city's work. */
  takeOutLock(): Promise<void>;
}

/** A city with the services of its waits. */
export async function waitFixture(): Promise<WaitFixture> {
  const fixture = await workFixture();
  const { city } = fixture;
  const log = new AppLogger(createLogger('silent'));
  const roster = new RosterService(new RosterRepository(fixture.db));
  const serviceOn = (work: WorkService): WaitsService =>
    new WaitsService(work, roster, new Idempotency(new IdempotencyRepository()), new WaitsRepository(fixture.db));
  const waits = serviceOn(fixture.work);
  const reads = new WaitReadsService(new WaitsRepository(fixture.db), roster);
  return {
    fixture,
    waits,
    reads,
    serviceOn,
    reconcilerOn: (work) => new WaitsReconciler(new WaitExpiryRepository(fixture.db), work, log, {} as DuePoller),
    beads: async (n) => {
      const { value } = await fixture.work.run(city, 'maker', async (w) => {
        const ids: string[] = [];
        for (let i = 0; i < n; i++) ids.push((await w.create({ rig: '', title: `bead ${i}` })).id);
        return ids;
      });
      return value;
    },
    create: async (depIds, more = {}, at = waits) => {
      const body = WaitCreateInputBody.parse({ session: 'mayor', dep_ids: depIds, ...more });
      return (await at.create(city, body, undefined, ANYBODY)).value;
    },
    close: async (id, work = fixture.work) => {
      await work.run(city, 'closer', (w) => w.close(id));
    },
    remove: async (id) => {
      await fixture.work.run(city, 'remover', (w) => w.remove(id));
    },
    get: async (id) => (await reads.get(city, id)).value,
    list: async (query = {}) => (await reads.list(city, { all: false, limit: 0, ...query })).value,
    letDue: async (id) => {
      await sql`update beads set metadata = metadata || '{"expires_at":"2020-01-01T00:00:00.000Z"}' where id = ${id}`.execute(fixture.db);
    },
    told: async (id) => {
      const events = (await fixture.events()).filter((e) => e.subject === id);
      const states = events.map((e) => (e.payload.bead as { metadata: { state: string } }).metadata.state);
      return states.filter((state, i) => state !== states[i - 1]);
    },
    takeOutLock: async () => {
      await sql`
        create or replace function begin_work(p_stream integer) returns boolean language sql as $$
          select exists (select from cities c where c.stream_id = p_stream and c.running) $$`.execute(fixture.db);
    },
  };
}
