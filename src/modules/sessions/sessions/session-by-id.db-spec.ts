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
    expect(new Set(together.map((one) => one!.body.id)).size).toBe(3);
  });

  it('are not found by anything else, nor in another city', async () => {
    const { city } = fixture;
    const { answers } = fixture.a;
    const { id, session_name } = await fixture.session('active');
    const texts = ['', 'nobody', session_name, `${id} ${id}`, `${id}\n`, ` ${id}`, `${id}\0`, '\ud800'];
    const found = await Promise.all([...texts.map((text) => answers.byId(city.name, text)), answers.byId(city.name, id)]);
    expect(found.map((one) => one?.body.id)).toEqual([...texts.map(() => undefined), id]);
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
});
