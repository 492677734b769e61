import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { sessionFixture, type SessionFixture } from '../messages/testing/session-fixture.js';

let fixture: SessionFixture;
beforeAll(async () => {
  fixture = await sessionFixture();
});
afterAll(() => fixture?.stop());

describe('sessions that are asked for by their ids', () => {
  it('are told together as each is alone', async () => {
    const { city } = fixture;
    const { answers } = fixture.a;
    const sessions = [await fixture.session('active'), await fixture.session('start-pending'), await fixture.session('active')];
    await fixture.close(sessions[2]!.pk);
    const alone = [];
    for (const { pk, id } of sessions) alone.push(await answers.of(city, pk, id));
    const together = await Promise.all([...sessions, ...sessions].map(({ id }) => answers.byId(city.name, id)));
    expect(together).toEqual([...alone, ...alone]);
    expect(new Set(together.map((one) => one!.value.id)).size).toBe(3);
  });

  it('are not found by anything else, nor in another city', async () => {
    const { city } = fixture;
    const { answers } = fixture.a;
    const { id, session_name } = await fixture.session('active');
    const texts = ['', 'nobody', session_name, `${id} ${id}`, `${id}\n`, ` ${id}`, `${id}\0`, '\ud800'];
    const found = await Promise.all([...texts.map((text) => answers.byId(city.name, text)), answers.byId(city.name, id)]);
    expect(found.map((one) => one?.value.id)).toEqual([...texts.map(() => undefined), id]);
    expect(await answers.byId(`${city.name}-2`, id)).toBeUndefined();
  });

  it('are not found while their city does not run', async () => {
    const { city, db } = fixture;
    const { id } = await fixture.session('active');
    await sql`update cities set running = false where name = ${city.name}`.execute(db);
    expect(await fixture.a.answers.byId(city.name, id)).toBeUndefined();
    await sql`update cities set running = true where name = ${city.name}`.execute(db);
    expect(await fixture.a.answers.byId(city.name, id)).toBeDefined();
  });

  it('are told as they are now, whatever has changed since they were read before', async () => {
    const { city, db } = fixture;
    const { answers } = fixture.a;
    const { id, pk } = await fixture.session('active');
    const bead = `${id}-bead`;
    const changes = [
      sql`update event_streams set head = head + 1 where id = ${city.streamId}`,
      sql`update sessions set title = 'another' where pk = ${pk}`,
      sql`update session_logs set activity = 'in-turn', model = 'm', context_used = 5, context_window = 10 where session_pk = ${pk}`,
      sql`insert into beads (stream_id, id, title, status, metadata) values (${city.streamId}, ${bead}, 'work', 'in_progress', ${JSON.stringify({ 'gc.session_id': id })}::jsonb)`,
      sql`update beads set status = 'closed', closed_at = clock_timestamp() where stream_id = ${city.streamId} and id = ${bead}`,
      sql`update sessions set reason = 'user-hold', held_until = clock_timestamp() + interval '1 hour', live = false, state = 'asleep' where pk = ${pk}`,
      sql`update sessions set held_until = clock_timestamp() - interval '1 hour' where pk = ${pk}`,
    ];
    const told = new Set<string>();
    const { index: first } = (await answers.byId(city.name, id))!;
    for (const change of changes) {
      await change.execute(db);
      const now = await answers.of(city, pk, id);
      expect(await answers.byId(city.name, id)).toEqual(now);
      expect(await answers.byId(city.name, id)).toEqual(now);
      told.add(JSON.stringify(now));
    }
    // Once its bead is closed it is told as before it had one.
    expect(told.size).toBe(changes.length - 1);
    await sql`update event_streams set head = ${first} where id = ${city.streamId}`.execute(db);
    await sql`delete from sessions where pk = ${pk}`.execute(db);
    expect(await answers.byId(city.name, id)).toBeUndefined();
  });
});
