import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectRefusal } from '../support/refusal.js';
import { SessionsCity } from '../support/sessions-city.js';

let crew: SessionsCity;
beforeAll(async () => {
  crew = await SessionsCity.open();
});
afterAll(() => crew?.close());

const get = (id: string, at = crew.b) => at.get(crew.path(`session/${encodeURIComponent(id)}`));
const patch = (id: string, body: object, at = crew.a) => at.patch(crew.path(`session/${encodeURIComponent(id)}`), body);
const list = (query: string, at = crew.b) => at.get(crew.path(`sessions?${query}`));
const close = (id: string) => crew.a.post(crew.path(`session/${encodeURIComponent(id)}/close`));

describe('finding sessions', () => {
  it('by id, name, alias, the last segment; after its end by id and by what it was called', async () => {
    const { id } = await crew.make({ alias: 'seeker' });
    const name = (await get(id)).body.session_name as string;
    for (const text of [id, name, 'web/seeker', 'seeker']) expect((await get(text)).body.id).toBe(id);
    for (const text of ['web/polecat', 'template:web/polecat', 'polecat', '%00', '\ud800'])
      expect((await get(text.isWellFormed() ? text : 'x')).status).toBe(404);
    await close(id);
    for (const text of [id, name, 'web/seeker']) expect((await get(text)).body).toMatchObject({ id, state: 'closed' });
    expect((await get('seeker')).status).toBe(404);
    expectRefusal(await patch('web/seeker', { title: 'x' }), crew.path('session/web%2Fseeker'), {
      status: 404,
      detail: 'not_found: session web/seeker not found',
    });
    expect(await patch(id, { title: 'after its end' })).toMatchObject({ status: 200, body: { title: 'after its end' } });
    const next = await crew.make({ alias: 'seeker' });
    expect((await get('web/seeker')).body.id).toBe(next.id);
    await close(next.id);
    expect((await get('web/seeker')).body.id).toBe(next.id);
  });

  it('lists the candidates of a name that several have', async () => {
    const one = await crew.make({ alias: 'a/pair' });
    const two = await crew.make({ alias: 'b/pair' });
    const reply = await get('pair');
    expectRefusal(reply, crew.path('session/pair'), { status: 409, detail: /^ambiguous: "pair" may be / });
    expect(reply.body.detail).toContain(`web/a/pair (${one.id})`);
    expect(reply.body.detail).toContain(`web/b/pair (${two.id})`);
    expectRefusal(await crew.a.post(crew.path('session/twin/wake')), crew.path('session/twin/wake'), {
      status: 409,
      detail: 'ambiguous: "twin" may be docs/twin, web/twin; say which',
    });
    await Promise.all([close(one.id), close(two.id)]);
  });
});

describe('lists', () => {
  it('walk over all of them once, newest first, with one total; closed ones where they are asked for', async () => {
    const made: string[] = [];
    for (let n = 0; n < 7; n++) made.push((await crew.make({ title: `walk ${n}` })).id);
    await Promise.all(made.slice(0, 3).map(close));
    const walk = async (query: string): Promise<string[]> => {
      const ids: string[] = [];
      for (let cursor = ''; ;) {
        const { body } = await list(`${query}&limit=2${cursor}`, ids.length % 4 === 0 ? crew.a : crew.b);
        ids.push(...(body.items as { id: string }[]).map(({ id }) => id));
        expect(body.total).toBe((await list(query)).body.total);
        if (body.next_cursor === undefined) return ids;
        cursor = `&cursor=${encodeURIComponent(body.next_cursor as string)}`;
      }
    };
    const all = await walk('state=all');
    expect(all.length).toBe((await list('state=all&limit=1')).body.total);
    expect(new Set(all).size).toBe(all.length);
    expect(all.slice(0, 7)).toEqual([...made].reverse());
    const open = await walk('state=open');
    expect(open).toEqual(await walk('state='));
    const closed = await walk('state=closed');
    expect(closed).toEqual(expect.arrayContaining(made.slice(0, 3)));
    expect([...open, ...closed].sort()).toEqual([...all].sort());
    expect(open).not.toContain(made[0]);
  });

  it.each([
    ['state=awake', 'awake'],
    ['state=drained,suspended', 'rest'],
    ['template=web/polecat', 'agent'],
    ['kind=provider', 'bare'],
    ['rig=web', 'agent'],
    ['provider=loopback', 'any'],
    ['running=true', 'awake'],
    ['pending=true', 'asks'],
  ])('filter by %s', async (query, what) => {
    const agent = await crew.make();
    const bare = await crew.make({ kind: 'provider', name: 'loopback' });
    await crew.putState(agent.id, 'active');
    await crew.putState(bare.id, 'suspended');
    const [{ pk }] = (await crew.sql<{ pk: string }>('select pk from sessions where id = $1', [agent.id])) as [{ pk: string }];
    await crew.sql(
      `insert into session_interactions (stream_id, session_pk, request_id, generation, kind, prompt, options, opened_rev) values ($1, $2, 'q', 1, 'approval', '?', '[]', 1)`,
      [crew.city.streamId, pk],
    );
    const { items } = (await list(`${query}&limit=1000`)).body as { items: { id: string }[] };
    const ids = items.map(({ id }) => id);
    const wanted = { awake: [agent.id], rest: [bare.id], agent: [agent.id], bare: [bare.id], any: [agent.id, bare.id], asks: [agent.id] }[
      what
    ]!;
    expect(ids).toEqual(expect.arrayContaining(wanted));
    for (const other of [agent.id, bare.id].filter((id) => !wanted.includes(id))) expect(ids).not.toContain(other);
    await crew.sql(`update session_interactions set status = 'cancelled' where request_id = 'q'`);
  });

  it.each([
    ['limit=1001', 422],
    ['limit=-1', 422],
    ['state=awoken', 422],
    ['kind=pool', 422],
    ['cursor=v1:nonsense', 400],
    ['cursor=7', 400],
    [`cursor=${encodeURIComponent(`v1:${Buffer.from(JSON.stringify({ k: 'wait', ca: '1', id: 'x' })).toString('base64url')}`)}`, 400],
    [`cursor=${encodeURIComponent(`v1:${Buffer.from(JSON.stringify({ k: 'session', ca: '1', id: 'x' })).toString('base64url')}`)}`, 400],
    ['sort=id', 422],
  ])('refuse %s with %i', async (query, status) => {
    const reply = await list(query);
    expectRefusal(reply, crew.path('sessions'), { status, detail: status === 400 ? /^invalid_cursor/ : /^validation_failed/ });
  });

  it('show what was said last, where it is asked for', async () => {
    const { id } = await crew.make();
    const [{ pk }] = (await crew.sql<{ pk: string }>('select pk from sessions where id = $1', [id])) as [{ pk: string }];
    const entry = (seq: number, role: string, kind: string, blocks: object[]) =>
      crew.sql(
        `insert into session_entries (session_pk, seq, rev, entry_id, epoch, generation, turn, kind, role, status, blocks) values ($1, $2::bigint, $2::bigint, 'e' || $2::text, 1, 1, 1, $3, $4, 'final', $5)`,
        [pk, seq, kind, role, JSON.stringify(blocks)],
      );
    await entry(1, 'user', 'message', [{ type: 'text', text: 'question' }]);
    await entry(2, 'assistant', 'message', [{ type: 'text', text: 'one\ntwo' }]);
    await entry(3, 'tool', 'tool', [{ type: 'tool_use', name: 'Bash' }]);
    await entry(4, 'assistant', 'thought', [{ type: 'thinking', thinking: 'hm' }]);
    await entry(5, 'assistant', 'message', [{ type: 'text', text: 'three\nfour\nfive\n' }]);
    expect((await get(id)).body).not.toHaveProperty('last_output');
    expect((await crew.a.get(crew.path(`session/${id}?peek=true`))).body.last_output).toBe('two\n[Bash]\nthree\nfour\nfive');
    expect((await crew.a.get(crew.path(`session/${id}?peek=1&peek_lines=2`))).body.last_output).toBe('four\nfive');
    expect((await crew.a.get(crew.path(`session/${id}?peek=1&peek_lines=0`))).body).not.toHaveProperty('last_output');
    expect((await list('limit=1&peek=true')).body.items[0]).toMatchObject({ id, last_output: 'two\n[Bash]\nthree\nfour\nfive' });
    expect((await crew.a.get(crew.path(`session/${id}?peek_lines=10001`))).status).toBe(422);
  });

  it('wait for the city to move', async () => {
    const { headers } = await list('limit=1');
    const index = headers.get('x-svc-index')!;
    expect(headers.get('x-svc-cache-age-s')).toBe('0');
    const waiting = list(`limit=1&index=${index}&wait=10s`);
    const { id } = await crew.make();
    const reply = await waiting;
    expect(Number(reply.headers.get('x-svc-index'))).toBeGreaterThan(Number(index));
    expect(reply.body.items[0].id).toBe(id);
  });

  it('say what a session works on', async () => {
    const { id } = await crew.make();
    const bead = (await crew.a.post(crew.path('beads'), { title: 'task' })).body.id as string;
    await crew.sql(
      `update beads set status = 'in_progress', assignee = 'x', metadata = jsonb_build_object('gc.session_id', $2::text) where id = $1`,
      [bead, id],
    );
    expect((await get(id)).body.active_bead).toBe(bead);
    expect((await list('limit=1')).body.items[0].active_bead).toBe(bead);
  });
});
