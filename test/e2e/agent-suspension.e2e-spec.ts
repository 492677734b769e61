import { readdir, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { postUntilTaken } from '../support/crew.js';
import { CrewCity, namesIn } from '../support/crew-city.js';
import type { Api } from '../support/http.js';
import type { Refusal } from '../support/refusal.js';
import { eventually } from '../support/sse.js';

let crew: CrewCity;
let a: Api;
let b: Api;
beforeAll(async () => {
  crew = await CrewCity.open();
  ({ a, b } = crew);
});
afterAll(() => crew?.close());

describe('suspending agents', () => {
  const look = async (name: string): Promise<unknown[]> => {
    const { body } = await b.get(crew.path(`agent/${name}`));
    return [body.suspended, body.suspended_declared, body.suspended_runtime, body.state, body.available];
  };

  it('is a switch over what the files say, until it is reset', async () => {
    const before = await crew.revision();
    expect(await a.post(crew.path('agent/desk.triager/suspend'))).toMatchObject({ status: 200, body: { status: 'ok' } });
    expect(await look('desk.triager')).toEqual([true, false, true, 'suspended', false]);
    expect((await b.post(crew.path('agent/triager/suspend'))).status).toBe(200);
    expect((await b.post(crew.path('agent/desk.triager/resume'))).status).toBe(200);
    expect(await look('desk.triager')).toEqual([false, false, false, 'stopped', true]);
    expect((await b.post(crew.path('agent/desk.triager/reset'))).status).toBe(200);
    expect((await a.post(crew.path('agent/desk.triager/reset'))).status).toBe(200);
    expect(await look('desk.triager')).toEqual([false, false, null, 'stopped', true]);
    const subjects = async (type: string): Promise<number> => (await crew.events(type, 'desk.triager')).length;
    expect([await subjects('agent.suspended'), await subjects('agent.resumed')]).toEqual([1, 2]);
    expect(await crew.revision()).toBe(before);
  });

  it('wins over a declared value, and outlives changes of the files', async () => {
    await a.post(crew.path('agent/web/polecat/resume'));
    expect((await a.patch(crew.path('agent/web/polecat'), { suspended: true })).status).toBe(200);
    expect(await look('web/polecat')).toEqual([false, true, false, 'stopped', true]);
    expect(await look('web/polecat-1')).toEqual([false, true, false, 'stopped', true]);
    await b.post(crew.path('agent/web/polecat/reset'));
    expect(await look('web/polecat-2')).toEqual([true, true, null, 'suspended', false]);
    expect(await crew.events('agent.suspended', 'web/polecat')).toHaveLength(1);
  });

  it('of a rig is told too', async () => {
    const before = await crew.text('city.toml');
    await writeFile(crew.file('city.toml'), before.replace('name = "docs"\n', 'name = "docs"\nsuspended_on_start = true\n'));
    expect((await a.post(crew.path('config/reload'))).status).toBe(200);
    const asleep = { suspended: false, available: false, unavailable_reason: 'rig docs is suspended' };
    expect((await b.get(crew.path('agent/docs/core.worker-1'))).body).toMatchObject(asleep);
    expect((await b.get(crew.path('agent/web/core.worker-1'))).body).toMatchObject({ available: true });
    await writeFile(crew.file('city.toml'), before);
    expect((await a.post(crew.path('config/reload'))).status).toBe(200);
  });

  it('is forgotten with the agent', async () => {
    const agent = { name: 'passing', provider: 'loopback' };
    await a.post(crew.path('agents'), agent);
    await a.post(crew.path('agent/passing/suspend'));
    await b.delete(crew.path('agent/passing'));
    await a.post(crew.path('agents'), agent);
    expect(await look('passing')).toEqual([false, false, null, 'stopped', true]);
  });

  it('of the city is told too', async () => {
    await a.patch('/v0/city/crew', { suspended: true });
    expect((await b.get(crew.path('agent/mayor'))).body).toMatchObject({
      suspended: false,
      available: false,
      unavailable_reason: 'city is suspended',
    });
    await a.patch('/v0/city/crew', { suspended: false });
    expect((await b.get(crew.path('agent/mayor'))).body).toMatchObject({ available: true });
  });

  it.each<[string, Refusal]>([
    ['agent/nobody/suspend', { status: 404, detail: 'not_found: agent nobody not found' }],
    ['agent/web/nobody/resume', { status: 404, detail: 'not_found: agent web/nobody not found' }],
    ['agent/mayor/dance', { status: 422, detail: 'validation_failed: validation failed', fields: ['path.action'] }],
    ['agent/web/polecat/stop', { status: 422, detail: 'validation_failed: validation failed', fields: ['path.action'] }],
    ['agent/web/polecat-1/suspend', { status: 409, detail: /^conflict: web\/polecat-1 is a member of the pool web\/polecat/ }],
  ])('refuses %s', async (rest, wanted) => {
    await crew.refuses('POST', rest, undefined, wanted);
  });
});

describe('two replicas at once', () => {
  it('give a name to one of those who want it', async () => {
    const wanted = { name: 'wanted', provider: 'loopback' };
    const made = await Promise.all([a, b, a, b].map((at) => postUntilTaken(at, crew.path('agents'), wanted)));
    expect(made.sort()).toEqual([201, 409, 409, 409]);
    expect(await crew.events('agent.created', 'wanted')).toHaveLength(1);
  });

  it('suspend once', async () => {
    const replies = await Promise.all([a, b, a, b, a, b].map((at) => at.post(crew.path('agent/wanted/suspend'))));
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
    expect(await crew.events('agent.suspended', 'wanted')).toHaveLength(1);
  });

  it('lose none of eight', async () => {
    const wanted = Array.from({ length: 8 }, (_, n) => `many-${n}`);
    const made = await Promise.all(
      wanted.map((name, n) => postUntilTaken([a, b][n % 2]!, crew.path('agents'), { name, provider: 'loopback' })),
    );
    expect(made).toEqual(wanted.map(() => 201));
    expect(namesIn(await b.get(crew.path('agents')))).toEqual(expect.arrayContaining(wanted));
    expect(await readdir(crew.file('agents'))).toEqual(expect.arrayContaining(wanted));
    expect((await a.get(crew.path('config/diff'))).body).toMatchObject({ total: 0 });
    expect(await crew.text('city.toml')).toContain('# the rigs of this city');
    expect((await crew.events('agent.created')).filter(({ subject }) => subject.startsWith('many-'))).toHaveLength(8);
    await eventually(async () => (await b.get(crew.path('config'))).body.rejected === undefined);
  });
});
