import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import type { Principal } from '../../../contract/principal.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import { hands, slings, type Shelf, type Slings } from './testing/slings.js';

/** Two processes on one database. */
let fixture: WorkFixture;
let a: Slings;
let b: Slings;
let h: ReturnType<typeof hands>;

const step = (id: string, more = ''): string => `[[steps]]\nid = "${id}"\ntitle = "${id} {{issue}}"\n${more}`;
const GRAPH = '[requires]\nformula_compiler = ">=2.0.0"\n';
const SHELF: Shelf = {
  texts: {
    tree: `formula = "tree"\n[vars]\nhow = "well"\n${step('a')}${step('b', 'needs = ["a"]\n')}`,
    graph: `formula = "graph"\n${GRAPH}${step('a')}`,
    short: `formula = "short"\n[vars.issue]\npattern = "^al-[0-9]$"\n${step('a')}`,
    wide: `formula = "wide"\n[[steps]]\nid = "l"\ntitle = "L"\nloop = { count = 1000, body = [{ id = "x", title = "X" }] }\n`,
    late: `formula = "late"\n${GRAPH}[[steps]]\nid = "a"\ntitle = "A {{convoy_id}} ${'x'.repeat(500)}"\n`,
  },
  defaults: { mayor: 'tree' },
};
beforeEach(async () => {
  fixture = await workFixture();
  a = slings(fixture, fixture.work, SHELF);
  b = slings(fixture, fixture.another(), SHELF);
  h = hands(fixture);
});
afterEach(() => fixture.close());

const target = 'mayor';
const live = async (): Promise<Record<string, string>> => {
  const { rows } = await sql<{ source_id: string; id: string }>`select source_id, id from runs where outcome is null`.execute(fixture.db);
  return Object.fromEntries(rows.map(({ source_id: source, id }) => [source, id]));
};
/** A sum over every row that a sling could touch. */
const everything = async (): Promise<unknown> => {
  const sums = ['beads', 'bead_dependencies', 'bead_counters', 'runs', 'event_streams'].map(
    (table) => sql`(select md5(string_agg(t::text, ',' order by t::text)) from ${sql.table(table)} t)`,
  );
  return (await sql`select array[${sql.join(sums)}] as sums`.execute(fixture.db)).rows;
};

describe('a batch for a target that works by a formula', () => {
  it('launches a run for each bead, which is refused as it would be alone, and answers them again', async () => {
    const [one, closed, two] = [await h.create(), await h.create({}, { status: 'closed' }), await h.create()];
    await a.sling({ target, attached_bead_id: two, formula: 'graph' });
    const three = await h.create();
    const body = { target, beads: [one, closed, 'al-99', two, three] };
    const { value, index } = await a.batch(body);
    const runs = await live();
    expect(value).toMatchObject({
      status: 'partial',
      results: [
        {
          bead: one,
          status: 'slung',
          changed: true,
          formula: 'tree',
          workflow_id: runs[one],
          run: { run_id: runs[one], status: 'pending' },
        },
        { bead: closed, status: 'refused', code: 'conflict-wrong-state' },
        { bead: 'al-99', status: 'refused', code: 'sling-missing-bead' },
        { bead: two, status: 'refused', code: 'sling-source-workflow-conflict', detail: expect.stringContaining(runs[two]!) },
        { bead: three, status: 'slung', workflow_id: runs[three] },
      ],
      slung: 2,
      refused: 3,
    });
    expect(Object.keys(runs).sort()).toEqual([one, two, three].sort());
    expect(index).toBe((await fixture.events()).at(-1)!.seq);
    expect((await h.bead(one)).metadata).toMatchObject({ 'gc.routed_to': target, molecule_id: runs[one] });
    const again = (await b.batch({ target, beads: [one, three] })).value;
    expect(again).toMatchObject({ status: 'slung', results: [{ changed: false, workflow_id: runs[one] }, { changed: false }] });
    expect(await live()).toEqual(runs);
    const alone = await h.create();
    expect((await a.batch({ target, beads: [alone], no_formula: true })).value.results).toEqual([
      { bead: alone, status: 'slung', changed: true, convoy_id: expect.any(String), warnings: [] },
    ]);
  });

  it('of a convoy launches one for each open member, and no convoy beside it', async () => {
    const [one, closed, two] = [await h.create(), await h.create(), await h.create()];
    const convoy = await h.create({ type: 'convoy' });
    for (const member of [one, closed, two]) await h.edge(convoy, member, 'tracks');
    await h.close(closed);
    const { value } = await a.batch({ target, convoy, vars: { how: 'fast' }, atomic: true });
    expect(value).toMatchObject({
      status: 'slung',
      slung: 2,
      skipped: 1,
      results: [{ convoy_id: convoy }, { convoy_id: convoy }, { bead: closed }],
    });
    expect(Object.keys(await live())).toEqual([one, two]);
    const { rows } = await sql`select vars from runs`.execute(fixture.db);
    expect(rows).toEqual([one, two].map((issue) => ({ vars: { how: 'fast', issue } })));
    const types = (await fixture.events()).filter(({ type }) => type === 'convoy.created');
    expect(types).toEqual([]);
  });

  it('takes beads out of the queue that a graph does', async () => {
    const bead = await h.create({ metadata: { 'gc.routed_to': 'deacon' } });
    const { value } = await a.batch({ target, beads: [bead], formula: 'graph' });
    const id = value.results[0]!.workflow_id;
    expect((await h.bead(bead)).metadata).toEqual({ workflow_id: id, 'gc.execution_routed_to': target });
    const foreign = await h.create({ rig: 'core' });
    const refused = await a.batch({ target: 'web/polecat', beads: [foreign], formula: 'graph' });
    expect(refused.value.results).toMatchObject([{ status: 'refused', code: 'sling-cross-rig' }]);
  });
});

describe('a batch with a formula, all of it or none', () => {
  it.each(['tree', 'graph', 'late'])('is rehearsed as it will be, with what is refused in the middle: %s', async (formula) => {
    const [one, other, two] = [await h.create(), await h.create(), await h.create()];
    await a.sling({ target: 'deacon', attached_bead_id: other, formula: 'short' });
    const body = { target, formula, beads: [one, other, two] };
    const before = await everything();
    const dry = (await a.batch({ ...body, dry_run: true })).value;
    await expect(a.batch({ ...body, atomic: true })).rejects.toMatchObject({
      problem: 'sling_refused',
      errors: formula === 'late' ? [{ value: one }, { value: other }, { value: two }] : [{ location: 'body.beads.1', value: other }],
    });
    expect(await everything()).toEqual(before);
    const head = (await fixture.events()).length;
    const { value } = await b.batch(body);
    const { events, ...promised } = JSON.parse(JSON.stringify(dry).replaceAll('would_sling', 'slung')) as typeof dry;
    expect(promised).toEqual(value);
    expect(events).toEqual((await fixture.events(head)).map(({ type, subject }) => ({ type, subject })));
  });

  it('launches all of them in one transaction', async () => {
    const beads = [await h.create(), await h.create(), await h.create()];
    let commits = 0;
    fixture.failpoints.arm('tx.before_commit', () => void commits++);
    const { value } = await a.batch({ target, beads, atomic: true });
    fixture.failpoints.disarm();
    expect(value).toMatchObject({ status: 'slung', slung: 3 });
    // The first only reads which beads there are.
    expect(commits).toBe(2);
    const more = [await h.create(), await h.create()];
    const before = await everything();
    commits = 2;
    fixture.failpoints.arm('tx.before_commit', () => {
      if (--commits === 0) throw new Error('planted');
    });
    await expect(a.batch({ target, beads: more, atomic: true })).rejects.toThrow('planted');
    fixture.failpoints.disarm();
    expect(await everything()).toEqual(before);
  });
});

describe('a batch whose formula cannot be used', () => {
  it('is refused as a whole when that is so for all beads, and changes nothing', async () => {
    const beads = await h.run(async (work) => {
      const ids: string[] = [];
      for (let n = 0; n < 4; n++) ids.push((await work.create({ rig: '', title: 'x' })).id);
      return ids;
    });
    const few = beads.slice(0, 2);
    const refused: [object, object][] = [
      [{ beads: few, formula: 'nowhere' }, { problem: 'formula_not_found' }],
      [
        { beads: few, vars: { why: 'x' } },
        { problem: 'invalid_request', detail: expect.stringContaining('vars.why is not a variable') },
      ],
      [{ beads: few, formula: 'tree', no_formula: true }, { detail: 'invalid: no_formula conflicts with formula/attached_bead_id' }],
      [{ beads: few, no_formula: true, title: 'x' }, { detail: expect.stringContaining('formula or target default formula is required') }],
      [{ beads: few, target: 'deacon', vars: {} }, { detail: expect.stringContaining('formula or target default formula is required') }],
    ];
    const before = await everything();
    for (const atomic of [false, true])
      for (const [body, problem] of refused) await expect(a.batch({ target, ...body, atomic })).rejects.toMatchObject(problem);
    const tooMany = a.batch({ target, beads, formula: 'wide', atomic: true });
    await expect(tooMany).rejects.toMatchObject({ detail: expect.stringContaining('more than 4000 steps') });
    expect(await everything()).toEqual(before);
  });

  it('is refused for the beads that it does not fit', async () => {
    const beads: string[] = [];
    for (let n = 0; n < 10; n++) beads.push(await h.create());
    const { value } = await a.batch({ target, beads: beads.slice(8), formula: 'short' });
    expect(value.results).toMatchObject([
      { bead: 'al-9', status: 'slung' },
      { bead: 'al-10', status: 'refused', code: 'invalid-request', detail: expect.stringContaining('does not match') },
    ]);
  });
});

describe('two processes with the same beads', () => {
  it.each([undefined, true])('launch one run for each of them (atomic: %s)', async (atomic) => {
    const beads = await Promise.all(Array.from({ length: 6 }, () => h.create()));
    const body = { target, atomic, beads };
    const both = await Promise.all([a.batch(body), b.batch({ ...body, beads: [...beads].reverse() }), a.batch(body)]);
    const runs = await live();
    expect(Object.keys(runs).sort()).toEqual([...beads].sort());
    expect((await sql`select from runs`.execute(fixture.db)).rows).toHaveLength(6);
    for (const { value } of both) for (const { bead, workflow_id: id } of value.results) expect(id).toBe(runs[bead]);
    expect(both.flatMap(({ value }) => value.results).filter(({ changed }) => changed)).toHaveLength(6);
  });

  it('that break off launch nothing a second time under the same key, also where they may end what is there', async () => {
    const [one, two] = [await h.create(), await h.create()];
    const body = { target, beads: [one, two], force: true };
    let commits = 0;
    fixture.failpoints.arm('tx.before_commit', () => {
      if (++commits === 3) throw new Error('planted');
    });
    await expect(a.batch(body, 'k')).rejects.toThrow('planted');
    fixture.failpoints.disarm();
    const first = await live();
    expect(Object.keys(first)).toEqual([one]);
    expect((await b.batch(body, 'k')).value).toMatchObject({
      results: [{ changed: true, workflow_id: first[one] }, { changed: true }],
    });
    expect(await live()).toMatchObject(first);
  });
});

/** A session works as `mayor`; `web/polecat` is another one's. */
describe('a graph that a session launches', () => {
  const asks = async (): Promise<Principal> => ({
    ...{ actor: 'mayor', keyId: undefined, scope: 'read', rights: ['operate'], cities: ['alpha'] },
    session: { id: 'al-7', pk: 7, city: 'alpha', streamId: fixture.city.streamId, agentName: 'mayor', names: ['al-7', 'mayor'] },
  });
  const formula = 'graph';
  const begun = (assignee: string): Promise<string> => h.create({}, { status: 'in_progress', assignee });
  const why = (bead: string): string => `bead ${bead} is being worked on by web/polecat`;

  it('is for no work that another one has under way, and may be for its own', async () => {
    const [others, own, open] = [await begun('web/polecat'), await begun('mayor'), await h.create()];
    const caller = await asks();
    const before = await everything();
    await expect(a.sling({ target, formula, attached_bead_id: others }, undefined, caller)).rejects.toMatchObject({
      problem: 'forbidden',
      message: expect.stringContaining(why(others)),
    });
    expect(await everything()).toEqual(before);
    for (const source of [own, open]) await a.sling({ target, formula, attached_bead_id: source }, undefined, caller);
    expect(Object.keys(await live())).toEqual([own, open]);
    // Who is no session is asked nothing.
    await a.sling({ target, formula, attached_bead_id: others });
  });

  it('is for no work that is assigned to another one, who may begin it meanwhile', async () => {
    const [others, own] = [await h.create({}, { assignee: 'web/polecat' }), await h.create({}, { assignee: 'mayor' })];
    const caller = await asks();
    await expect(a.sling({ target, formula, attached_bead_id: others }, undefined, caller)).rejects.toMatchObject({
      problem: 'forbidden',
      message: expect.stringContaining(`bead ${others} is assigned to web/polecat`),
    });
    await a.sling({ target, formula, attached_bead_id: own }, undefined, caller);
    expect(Object.keys(await live())).toEqual([own]);
    await a.sling({ target, formula, attached_bead_id: others });
  });

  it('alone changes neither the way nor the end of what its owner has under way', async () => {
    const [others, own] = [await begun('web/polecat'), await begun('mayor')];
    const caller = await asks();
    const toOwner = { target: 'web/polecat', bead: others, no_formula: true };
    const before = await h.bead(others);
    for (const body of [toOwner, { ...toOwner, merge: 'direct' }])
      await expect(a.sling(body, undefined, caller)).rejects.toMatchObject({
        problem: 'forbidden',
        message: expect.stringContaining(why(others)),
      });
    expect(await h.bead(others)).toEqual(before);
    await a.sling(toOwner);
    await expect(a.sling({ ...toOwner, merge: 'mr' }, undefined, caller)).rejects.toMatchObject({ problem: 'forbidden' });
    expect((await a.sling(toOwner, undefined, caller)).value).toMatchObject({ bead: others, changed: false });
    const { value } = await a.batch({ target: 'web/polecat', beads: [others], merge: 'mr', no_formula: true }, undefined, caller);
    expect(value.results).toMatchObject([{ bead: others, status: 'refused', code: 'forbidden' }]);
    expect((await a.sling({ target: 'mayor', bead: own, no_formula: true }, undefined, caller)).value).toMatchObject({ changed: true });
  });

  it('is refused so for single beads of a batch, and for all of one that is atomic', async () => {
    const [others, own] = [await begun('web/polecat'), await begun('mayor')];
    const body = { target, beads: [own, others], formula };
    await expect(a.batch({ ...body, atomic: true }, undefined, await asks())).rejects.toMatchObject({
      problem: 'sling_refused',
      errors: [{ location: 'body.beads.1', message: expect.stringContaining(why(others)) }],
    });
    expect(await live()).toEqual({});
    expect((await a.batch(body, undefined, await asks())).value.results).toMatchObject([
      { bead: own, status: 'slung' },
      { bead: others, status: 'refused', code: 'forbidden', detail: expect.stringContaining(why(others)) },
    ]);
    expect(Object.keys(await live())).toEqual([own]);
  });

  it('is refused so by a worker that carries out its batch later', async () => {
    const later = slings(fixture, fixture.work, SHELF, { step: 2, most: 1 });
    const [others, own] = [await begun('web/polecat'), await begun('mayor')];
    const { value } = await later.batch({ target, beads: [own, others], formula }, undefined, await asks());
    expect(await slings(fixture, fixture.another(), SHELF, { step: 2 }).carryOut(value.request_id!)).toMatchObject({ ok: true });
    const { results } = await later.batches.get(fixture.city, value.request_id!, { limit: 10, cursor: undefined, status: undefined });
    expect(results).toMatchObject([{ status: 'slung' }, { status: 'refused', code: 'forbidden' }]);
    expect(Object.keys(await live())).toEqual([own]);
  });

  it.each(['graph', 'tree'])('is for no wait, whoever asks: %s', async (name) => {
    const metadata = { state: 'pending', session_id: 'web/polecat' };
    const wait = await h.create({ type: 'gate', labels: ['gc:wait'], metadata });
    for (const caller of [undefined, await asks()])
      await expect(a.sling({ target, formula: name, attached_bead_id: wait }, undefined, caller)).rejects.toMatchObject({
        problem: 'wrong_state',
        message: expect.stringContaining(`bead ${wait} is a wait, which is nobody's work; ${name} cannot be attached to it`),
      });
    expect((await h.bead(wait)).metadata).toEqual(metadata);
  });
});
