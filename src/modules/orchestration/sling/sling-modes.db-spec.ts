import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import type { SlingInputBody } from './sling.schemas.js';
import { hands, slings, type Shelf, type Slings } from './testing/slings.js';

let fixture: WorkFixture;
let service: Slings;
let h: ReturnType<typeof hands>;
/** Beads by what they are. */
const beads: Record<string, string> = {};

const GRAPH = '[requires]\nformula_compiler = ">=2.0.0"\n';
const STEP = '[[steps]]\nid = "a"\ntitle = "A"\n';
const SHELF: Shelf = {
  texts: {
    tree: `formula = "tree"\n[vars]\nhow = "well"\n${STEP}`,
    graph: `formula = "graph"\n${GRAPH}${STEP}`,
    input: `formula = "input"\n${GRAPH}[[steps]]\nid = "a"\ntitle = "A {{convoy_id}}"\n`,
    item: `formula = "item"\n${GRAPH}[[steps]]\nid = "i"\ntitle = "I {{issue}}"\n`,
    drained: `formula = "drained"\n${GRAPH}[[steps]]\nid = "a"\ntitle = "A"\ndrain = { formula = "item", member_access = "exclusive" }\n`,
  },
  defaults: { mayor: 'tree', 'web/polecat': 'graph' },
};
beforeAll(async () => {
  fixture = await workFixture();
  service = slings(fixture, fixture.work, SHELF);
  h = hands(fixture);
  beads.closed = await h.create({}, { status: 'closed' });
  beads.foreign = await h.create({ rig: 'core' });
  beads.free = await h.create();
});
afterAll(() => fixture.close());

describe('what is launched, and how it is called', () => {
  const city = { scope_kind: 'city', scope_ref: 'alpha' };
  it.each<[what: string, body: Partial<SlingInputBody>, mode: string, formula: string | undefined]>([
    ['a formula by itself', { formula: 'tree' }, 'standalone', 'tree'],
    ['a graph by itself', { formula: 'graph' }, 'standalone', 'graph'],
    ['a formula for a bead', { formula: 'graph', attached_bead_id: '*' }, 'attached', 'graph'],
    ['the formula of the target, with values', { bead: '*', vars: { how: 'fast' } }, 'attached', 'tree'],
    ['the formula of the target, with a title', { bead: '*', title: 'T' }, 'attached', 'tree'],
    ['the formula of the target, with a scope', { bead: '*', ...city }, 'attached', 'tree'],
    ['a graph that the target works by', { target: 'web/polecat', bead: '*', title: 'T' }, 'attached', 'graph'],
    ['the formula of the target, unasked', { bead: '*' }, 'direct', 'tree'],
    ['a bead alone', { bead: '*', no_formula: true }, 'direct', undefined],
    ['a bead alone in a scope', { bead: '*', no_formula: true, ...city }, 'direct', undefined],
    ['a bead for a target that works by none', { target: 'deacon', bead: '*' }, 'direct', undefined],
    ['a scope that only says where the target is', { target: 'deacon', bead: '*', ...city }, 'direct', undefined],
  ])('%s', async (_what, given, mode, formula) => {
    const source = given.bead ?? given.attached_bead_id;
    const id = source === undefined ? undefined : await h.create();
    const body = { target: 'mayor', ...given, ...(given.bead && { bead: id! }), ...(given.attached_bead_id && { attached_bead_id: id! }) };
    const { value } = await service.sling(body);
    expect(value).toMatchObject({ status: 'slung', target: body.target, mode, changed: true });
    expect([value.bead, value.formula]).toEqual([id, formula]);
    expect(value.attached_bead_id).toBe(mode === 'attached' ? id : undefined);
    expect((await service.sling(body)).value.changed).toBe(mode === 'standalone');
    if (formula === undefined) {
      expect(value).not.toHaveProperty('workflow_id');
      return;
    }
    const run = value.workflow_id!;
    expect(value).toMatchObject({ root_bead_id: run, run: { run_id: run, kind: 'sling', status: 'pending' } });
    const root = await h.bead(run);
    expect([root.title, root.metadata['gc.var.how']]).toEqual([
      given.title ?? formula,
      formula === 'tree' ? (given.vars?.how ?? 'well') : undefined,
    ]);
    if (id === undefined) return;
    expect((await h.bead(id)).metadata).toMatchObject(
      formula === 'tree' ? { molecule_id: run, 'gc.routed_to': body.target } : { workflow_id: run, 'gc.execution_routed_to': body.target },
    );
  });

  it('a graph for a convoy, which it works on as it is', async () => {
    const convoy = await h.create({ type: 'convoy' });
    await h.edge(convoy, await h.create(), 'tracks');
    const { value } = await service.sling({ target: 'mayor', formula: 'input', attached_bead_id: convoy });
    expect((await h.bead(value.workflow_id!)).metadata['gc.input_convoy_id']).toBe(convoy);
    const bead = await h.create();
    const made = await service.sling({ target: 'mayor', formula: 'input', attached_bead_id: bead });
    const { 'gc.input_convoy_id': input } = (await h.bead(made.value.workflow_id!)).metadata;
    expect(await h.bead(input!)).toMatchObject({ title: `input convoy for ${bead}`, metadata: { 'gc.synthetic': 'true' } });
  });
});

it('says of a run that it has failed as it was launched', async () => {
  const convoy = await h.create({ type: 'convoy' });
  const member = await h.create({}, { status: 'in_progress', assignee: 'deacon' });
  await h.edge(convoy, member, 'tracks');
  const { value } = await service.sling({ target: 'mayor', formula: 'drained', attached_bead_id: convoy });
  expect(value).toMatchObject({
    run: { status: 'failed' },
    warnings: [expect.stringMatching(/^run al-\d+ has failed as it was launched: \w/)],
  });
});

describe('what is refused', () => {
  it.each<[detail: string, body: Partial<SlingInputBody>]>([
    ['invalid: target agent or pool is required', { target: ' ', formula: 'tree' }],
    ['not_found: target nobody not found', { target: 'nobody', formula: 'tree' }],
    ['invalid: bead or formula is required', {}],
    ['invalid: bead and formula are mutually exclusive', { bead: 'free', formula: 'tree' }],
    ['invalid: bead and attached_bead_id are mutually exclusive', { bead: 'free', attached_bead_id: 'free' }],
    ['invalid: formula is required when attached_bead_id is provided', { attached_bead_id: 'free' }],
    ['invalid: formula or target default formula is required when vars or title are provided', { target: 'deacon', bead: 'free', vars: {} }],
    ['invalid: formula or target default formula is required when vars or title are provided', { target: 'deacon', bead: 'free', title: 'T' }],
    ['invalid: formula or target default formula is required when vars or title are provided', { bead: 'free', title: 'T', no_formula: true }],
    ['invalid: scope_kind and scope_ref must be provided together', { formula: 'tree', scope_kind: 'city' }],
    ["invalid: scope_kind must be 'city' or 'rig'", { formula: 'tree', scope_kind: 'x', scope_ref: 'y' }],
    ["invalid: merge must be 'direct', 'mr', or 'local'", { formula: 'tree', merge: 'x' }],
    ['invalid: owned requires a convoy (cannot use with no_convoy)', { formula: 'tree', owned: true, no_convoy: true }],
    ['invalid: no_formula conflicts with formula/attached_bead_id', { formula: 'tree', no_formula: true }],
    ['invalid: scope_ref web requires a rig-scoped target; resolved target mayor is city-scoped', { formula: 'tree', scope_kind: 'rig', scope_ref: 'web' }],
    ['invalid: scope_ref web conflicts with resolved target rig core', { target: 'core/polecat', formula: 'tree', scope_kind: 'rig', scope_ref: 'web' }],
    ['invalid: rig core conflicts with scope_ref web', { target: 'web/polecat', formula: 'tree', scope_kind: 'rig', scope_ref: 'web', rig: 'core' }],
    ['not_found: formula nowhere not found', { formula: 'nowhere' }],
    ['sling_missing_bead: bead al-99 not found', { bead: 'al-99' }],
    ['sling_missing_bead: bead al-99 not found', { formula: 'tree', attached_bead_id: 'al-99' }],
    ['sling_missing_bead: formulas v2 target al-99 not found', { formula: 'graph', attached_bead_id: 'al-99' }],
    ['conflict: bead al-1 is closed; reopen it first', { bead: 'closed' }],
    ['conflict: formulas v2 target al-1 is closed', { formula: 'graph', attached_bead_id: 'closed' }],
    ['sling_cross_rig: bead co-1 of rig core cannot go to web/polecat of rig web; pass force', { target: 'web/polecat', formula: 'tree', attached_bead_id: 'foreign' }],
    ['sling_cross_rig: bead co-1 of rig core cannot go to web/polecat of rig web; pass force', { target: 'web/polecat', bead: 'foreign' }],
    ['invalid: v2 formula "input" requires a target convoy', { formula: 'input' }],
  ])('%s', async (detail, given) => {
    const named = (id: string | undefined): string | undefined => (id === undefined ? undefined : (beads[id] ?? id));
    const body = { target: 'mayor', ...given, bead: named(given.bead), attached_bead_id: named(given.attached_bead_id) };
    const head = (await fixture.events()).length;
    await expect(service.sling(body)).rejects.toMatchObject({ detail });
    await expect(service.sling({ ...body, dry_run: true })).rejects.toMatchObject({ detail });
    expect(await fixture.events()).toHaveLength(head);
  }); // prettier-ignore

  it('a bead that has another live run, with its ids', async () => {
    const bead = await h.create();
    const { value } = await service.sling({ target: 'mayor', formula: 'graph', attached_bead_id: bead });
    await expect(service.sling({ target: 'mayor', bead })).rejects.toMatchObject({
      problem: 'sling_source_conflict',
      detail: `conflict: source bead ${bead} already has live workflow(s): ${value.workflow_id}`,
      errors: [
        { location: 'body.source_bead_id', value: bead },
        { location: 'body.blocking_workflow_ids', value: [value.workflow_id] },
        { location: 'body.hint' },
      ],
    });
    const forced = await service.sling({ target: 'mayor', bead, force: true });
    expect(forced.value).toMatchObject({ formula: 'tree', changed: true });
    expect((await h.bead(bead)).metadata).toEqual({ molecule_id: forced.value.workflow_id, 'gc.routed_to': 'mayor' });
  });
});
