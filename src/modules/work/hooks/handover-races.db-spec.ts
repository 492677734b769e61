import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { eventually } from '../../../../test/support/sse.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import { ANYBODY } from '../../../contract/principal.js';
import type { PgPool } from '../../../platform/database/database.js';
import { Idempotency } from '../../../platform/idempotency/idempotency.js';
import { IdempotencyRepository } from '../../../platform/idempotency/idempotency.repository.js';
import { RosterRepository } from '../../configuration/roster/roster.repository.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import { BeadChangesService, type Target } from '../beads/bead-changes.service.js';
import { ConvoysRepository } from '../convoys/convoys.repository.js';
import { ConvoysService } from '../convoys/convoys.service.js';
import { DependenciesRepository } from '../dependencies/dependencies.repository.js';
import { DependenciesService } from '../dependencies/dependencies.service.js';
import { ClaimsRepository } from './claims.repository.js';

let fixture: WorkFixture;
let changes: BeadChangesService;
beforeEach(async () => {
  fixture = await workFixture();
  changes = new BeadChangesService(
    fixture.work,
    new RosterService(new RosterRepository(fixture.db)),
    new DependenciesService(new DependenciesRepository(fixture.db), fixture.work),
    new ConvoysService(new ConvoysRepository(fixture.db), fixture.work, new Idempotency(new IdempotencyRepository())),
  );
});
afterEach(() => fixture.close());

const waiting = async (): Promise<number> => {
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(fixture.db);
  return rows[0]!.n;
};

describe('a heartbeat that was answered', () => {
  // Guard: whoever gives a bead to somebody else locks its row before he looks whether its lease has ended (`for update`).
  it.each([
    ['assigned', (at: Target) => changes.assign(at, 'deacon')],
    ['changed', (at: Target) => changes.update(at, { assignee: 'deacon' })],
  ])('holds against who gives the bead away meanwhile (%s)', async (_, give) => {
    const { value: made } = await fixture.work.run(fixture.city, 'mayor', async (w) => {
      const { id } = await w.create({ rig: '', title: 'x' });
      return w.update(id, { status: 'in_progress', assignee: 'mayor', lease: { ms: 60_000 } });
    });
    const { id, claim_fence: fence } = made;
    await sql`update beads set lease_until = now() - interval '1 second' where id = ${id}`.execute(fixture.db);
    const client = await fixture.pool.connect();
    await client.query('begin');
    const beats = new ClaimsRepository(client as unknown as PgPool);
    expect(await beats.heartbeat(fixture.city.streamId, id, 'mayor', fence)).toMatchObject({ fence });
    const at: Target = { city: fixture.city, id, caller: { ...ANYBODY, actor: 'tester' }, expected: undefined };
    const given = give(at).catch((error: unknown) => error);
    await eventually(async () => (await waiting()) === 1);
    await client.query('commit');
    client.release();
    expect(await given).toMatchObject({ problem: 'owned_by_other' });
    const { value: after } = await fixture.work.run(fixture.city, 'reader', (w) => w.require(id));
    expect(after).toMatchObject({ assignee: 'mayor', status: 'in_progress', claim_fence: fence });
  });
});
