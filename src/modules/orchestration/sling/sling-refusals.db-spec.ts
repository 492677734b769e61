import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import type { BeadChange, NewBead } from '../../work/work/bead-record.js';
import type { SlingInputBody } from './sling.schemas.js';
import { hands, slings, type Slings } from './testing/slings.js';

let fixture: WorkFixture;
let service: Slings;
let h: ReturnType<typeof hands>;
/** Beads that something is wrong with, by what it is. */
const beads: Record<string, string> = {};

const FAR = new Date('9999-12-31T23:59:59Z');
beforeAll(async () => {
  fixture = await workFixture();
  service = slings(fixture);
  h = hands(fixture);
  const make = async (name: string, more: Partial<NewBead> = {}, change: BeadChange = {}): Promise<void> => {
    beads[name] = await h.create(more, change);
  };
  await make('free');
  await make('convoy', { type: 'convoy', rig: 'core' });
  await make('epic', { type: 'epic', rig: 'core' });
  await make('foreign', { rig: 'core' });
  await make('foreign in a circle', { rig: 'core' });
  await make('in a circle', { metadata: { 'gc.routed_to': 'deacon' } });
  for (const name of ['foreign in a circle', 'in a circle']) {
    const through = await h.create();
    await h.edge(beads[name]!, through);
    await h.edge(through, beads[name]!);
  }
  await make('closed', { metadata: { 'gc.routed_to': 'mayor' } }, { status: 'closed' });
  await make('owned', { assignee: 'deacon' }, { status: 'in_progress' });
  await make('routed', { metadata: { 'gc.routed_to': 'deacon' } });
  await make('deferred', { deferUntil: FAR });
  await make('blocked');
  await h.edge(beads.blocked!, beads.free!);
  await make('everything', { assignee: 'deacon', metadata: { 'gc.routed_to': 'web/polecat' }, deferUntil: FAR });
  await h.edge(beads.everything!, beads.free!);
});
afterAll(() => fixture.close());

const refusal = (body: SlingInputBody): Promise<unknown> =>
  service.sling(body).then(
    () => 'slung',
    (error: { detail?: string }) => error.detail ?? error,
  );

describe('the first fault of a sling is the one that is told', () => {
  type Row = readonly [first: string, firstDetail: RegExp, second: string, secondDetail: RegExp, both: object, mended: object];
  // Each request has two faults; `mended` takes the first away and so shows that the second was there.
  const ROWS: readonly Row[] = [
    ['a blank target', /^invalid: target agent or pool is required$/, 'an unknown one', /^not_found: target nobody not found$/, { target: ' ' }, { target: 'nobody' }],
    ['no bead', /^invalid: bead or formula is required$/, 'an unknown target', /^not_found: target nobody/, { target: 'nobody', bead: undefined }, { bead: 'free' }],
    ['an unknown target', /^not_found: target nobody/, 'half a scope', /^invalid: scope_kind and scope_ref must be provided together$/, { target: 'nobody', scope_kind: 'city' }, { target: 'mayor' }],
    ['half a scope', /must be provided together$/, 'owned without a convoy', /^invalid: owned requires a convoy \(cannot use with no_convoy\)$/, { scope_ref: 'web', owned: true, no_convoy: true }, { scope_ref: '' }],
    ['an unknown scope', /^invalid: scope_kind must be 'city' or 'rig'$/, 'owned without a convoy', /^invalid: owned requires/, { scope_kind: 'x', scope_ref: 'web', owned: true, no_convoy: true }, { scope_kind: 'city', scope_ref: 'alpha' }],
    ['another city', /^invalid: scope_ref beta is not this city$/, 'owned without a convoy', /^invalid: owned requires/, { scope_kind: 'city', scope_ref: 'beta', owned: true, no_convoy: true }, { scope_ref: 'alpha' }],
    ['owned without a convoy', /^invalid: owned requires/, 'an unknown merge', /^invalid: merge must be 'direct', 'mr', or 'local'$/, { owned: true, no_convoy: true, merge: 'x' }, { owned: false }],
    ['an unknown merge', /^invalid: merge must be/, 'a target of the city in a rig', /^invalid: scope_ref web requires a rig-scoped target; resolved target mayor is city-scoped$/, { merge: 'x', scope_kind: 'rig', scope_ref: 'web' }, { merge: 'local' }],
    ['a target of another rig', /^invalid: scope_ref web conflicts with resolved target rig core$/, 'another rig', /^invalid: rig core conflicts with scope_ref web$/, { target: 'core/polecat', scope_kind: 'rig', scope_ref: 'web', rig: 'core' }, { target: 'web/polecat' }],
    ['another rig', /^invalid: rig core conflicts/, 'no such bead', /^sling_missing_bead: bead al-99 not found$/, { target: 'web/polecat', scope_kind: 'rig', scope_ref: 'web', rig: 'core', bead: 'al-99' }, { rig: 'web' }],
    ['an unknown rig', /^not_found: rig nowhere not found$/, 'no such bead', /^sling_missing_bead: bead al-99 not found$/, { rig: 'nowhere', bead: 'al-99' }, { rig: 'core' }],
    ['no such bead', /^sling_missing_bead/, 'a convoy', /^invalid: bead \S+ is a convoy; POST …\/sling\/batch slings its members$/, { bead: 'al-99' }, { bead: 'convoy' }],
    ['a convoy', /^invalid: bead \S+ is a convoy/, 'a bead of another rig', /^sling_cross_rig: bead co-\d of rig core cannot go to web\/polecat of rig web; pass force$/, { target: 'web/polecat', bead: 'convoy' }, { bead: 'foreign' }],
    ['an epic', /^invalid: bead \S+ is an epic; first-class support is for convoys only$/, 'a bead of another rig', /^sling_cross_rig/, { target: 'web/polecat', bead: 'epic' }, { bead: 'foreign' }],
    ['a bead of another rig', /^sling_cross_rig/, 'a dependency cycle', /^invalid: dependency cycle detected: (co-\d+) → \S+ → \1$/, { target: 'web/polecat', bead: 'foreign in a circle' }, { target: 'mayor' }],
    ['a dependency cycle', /^invalid: dependency cycle/, 'another route', /^conflict: bead \S+ is routed to deacon/, { bead: 'in a circle' }, { bead: 'routed' }],
  ]; // prettier-ignore

  it.each(ROWS)('%s: %s, before %s: %s', async (_first, firstDetail, _second, secondDetail, both, mended) => {
    const request = (more: object): SlingInputBody => {
      const body = { target: 'mayor', bead: 'free', ...more } as SlingInputBody;
      return { ...body, bead: beads[body.bead ?? ''] ?? body.bead };
    };
    const head = (await fixture.events()).length;
    expect(await refusal(request(both))).toMatch(firstDetail);
    expect(await refusal(request({ ...both, ...mended }))).toMatch(secondDetail);
    expect(await fixture.events()).toHaveLength(head);
  });
});

describe('a bead that cannot be given away', () => {
  const LIFTS: Record<string, { force: boolean; reassign: boolean; detail: RegExp }> = {
    closed: { force: false, reassign: false, detail: /^conflict: bead \S+ is closed; reopen it first$/ },
    owned: { force: true, reassign: true, detail: /^conflict: bead \S+ is owned by deacon; pass reassign to take it away, or force$/ },
    routed: { force: true, reassign: false, detail: /^conflict: bead \S+ is routed to deacon; pass force to override$/ },
    foreign: { force: true, reassign: false, detail: /^sling_cross_rig/ },
    'in a circle': { force: true, reassign: false, detail: /^invalid: dependency cycle/ },
    convoy: { force: false, reassign: false, detail: /^invalid: bead/ },
    epic: { force: false, reassign: false, detail: /^invalid: bead/ },
  };

  it.each(Object.entries(LIFTS))('because it is %s', async (name, { force, reassign, detail }) => {
    const body = { target: name === 'foreign' ? 'web/polecat' : 'mayor', bead: beads[name]!, dry_run: true };
    expect(await refusal(body)).toMatch(detail);
    expect(await refusal({ ...body, force: true })).toMatch(force ? /^slung$/ : detail);
    expect(await refusal({ ...body, reassign: true })).toMatch(reassign ? /^slung$/ : detail);
  });

  it.each([
    ['blocked', 'is blocked by al-1'],
    ['deferred', 'is deferred until 9999-12-31T23:59:59.000Z'],
  ])('is none that is only %s: it is routed, and waits', async (name, warning) => {
    const bead = beads[name]!;
    const { value } = await service.sling({ target: 'mayor', bead, dry_run: true });
    expect(value).toMatchObject({ status: 'would_sling', changed: true, warnings: [`bead ${bead} ${warning}`] });
  });

  it('is told everything that is in the way, and where it is now', async () => {
    const bead = beads.everything!;
    await expect(service.sling({ target: 'mayor', bead })).rejects.toMatchObject({
      problem: 'sling_refused',
      errors: [
        { location: 'bead.assignee', message: 'is owned by deacon', value: 'deacon' },
        { location: 'bead.metadata.gc.routed_to', message: 'is routed to web/polecat', value: 'web/polecat' },
        { location: 'bead.state', message: 'current state', value: 'blocked' },
      ],
    });
    await expect(service.sling({ target: 'mayor', bead: beads.closed! })).rejects.toMatchObject({
      errors: [
        { location: 'bead.status', value: 'closed' },
        { location: 'bead.state', value: 'closed' },
        { location: 'bead.metadata.gc.routed_to', message: 'current route', value: 'mayor' },
      ],
    });
    await expect(service.sling({ target: 'mayor', bead: beads.owned! })).rejects.toMatchObject({
      errors: [{ location: 'bead.assignee' }, { location: 'bead.state', value: 'in_progress' }],
    });
  });
});
