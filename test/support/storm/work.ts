import type { Kinds, StormWorld } from './world.js';

const AGENTS = ['mayor', 'web/hand', 'web/hand-1', 'docs/hand', 'clerk', 'ghost'];
const somebody = (w: StormWorld): string => (w.random.chance(0.3) ? w.some(w.sessions, 'mayor') : w.random.pick(AGENTS));
const bead = (w: StormWorld): string => w.some(w.beads, 'none-1');
const beads = (w: StormWorld, most: number): string[] => [...new Set(Array.from({ length: w.random.int(1, most) }, () => bead(w)))];
const rig = (w: StormWorld): object => (w.random.chance(0.5) ? { rig: w.random.pick(['web', 'docs']) } : {});
const key = (w: StormWorld): Partial<{ headers: Record<string, string>; both: boolean }> =>
  w.random.chance(0.3) ? { headers: { 'Idempotency-Key': `k-${w.random.int(1, 12)}-${w.next()}` }, both: w.random.chance(0.7) } : {};
const created = (w: StormWorld) => ({ ...key(w), learn: (body: any) => w.keep(w.beads, body.id) });

/** Beads, and what is made of them. */
export const WORK: Kinds = {
  'create-bead': [14, (w) => w.post('beads', { title: 'x', labels: ['l'], assignee: somebody(w), ...rig(w) }, created(w))],
  'create-child': [4, (w) => w.post('beads', { title: 'child', parent: bead(w) }, created(w))],
  'create-needing': [4, (w) => w.post('beads', { title: 'needs', needs: beads(w, 3) }, created(w))],
  'create-routed': [4, (w) => w.post('beads', { title: 'routed', rig: 'web', metadata: { 'gc.routed_to': 'web/hand' } }, created(w))],
  'update-bead': [
    6,
    (w) => w.post(`bead/${bead(w)}/update`, { title: `t${w.next()}`, labels: ['a', 'b'], metadata: { at: `${w.next()}` } }),
  ],
  'patch-bead': [
    3,
    (w) => ({
      method: 'PATCH',
      path: w.path(`bead/${bead(w)}`),
      body: { parent: w.random.chance(0.5) ? bead(w) : null, assignee: somebody(w) },
    }),
  ],
  'assign-bead': [2, (w) => w.post(`bead/${bead(w)}/assign`, { assignee: somebody(w) })],
  'close-bead': [8, (w) => w.post(`bead/${bead(w)}/close`, {}, { both: w.random.chance(0.3) })],
  'reopen-bead': [4, (w) => w.post(`bead/${bead(w)}/reopen`)],
  'delete-bead': [2, (w) => ({ method: 'DELETE', path: w.path(`bead/${bead(w)}`) })],
  'add-dependency': [
    6,
    (w) =>
      w.post(`bead/${bead(w)}/dependencies`, {
        depends_on_id: bead(w),
        type: w.random.pick(['blocks', 'related', 'waits-for', 'parent-child']),
      }),
  ],
  'remove-dependency': [3, (w) => ({ method: 'DELETE', path: w.path(`bead/${bead(w)}/dependencies/${bead(w)}`) })],
  'label-bead': [2, (w) => w.post(`bead/${bead(w)}/labels`, { labels: [`l${w.random.int(1, 3)}`] })],
  'claim-hook': [
    8,
    (w) => {
      const agent = w.random.pick(AGENTS);
      const session = w.random.chance(0.5) ? { session: w.some(w.sessions, 's') } : {};
      return w.post('hook/claim', { agent, lease: '1s', ...session }, { learn: (body) => void w.fences.set(body.bead?.id, body.fence) });
    },
  ],
  'claim-bead': [5, (w) => w.post(`bead/${bead(w)}/claim`, { assignee: w.random.pick(AGENTS), force: w.random.chance(0.3) })],
  'release-bead': [4, (w) => w.post(`bead/${bead(w)}/release`, { assignee: w.random.pick(AGENTS) })],
  'heartbeat-bead': [
    2,
    (w) => {
      const id = bead(w);
      return w.post(`bead/${id}/heartbeat`, { assignee: w.random.pick(AGENTS), fence: w.fences.get(id) ?? 1 });
    },
  ],
  'create-convoy': [
    3,
    (w) =>
      w.post('convoys', { title: 'c', items: beads(w, 4), notify: 'mayor' }, { ...key(w), learn: (body) => w.keep(w.convoys, body.id) }),
  ],
  'add-to-convoy': [2, (w) => w.post(`convoy/${w.some(w.convoys)}/add`, { items: beads(w, 3) })],
  'remove-from-convoy': [1, (w) => w.post(`convoy/${w.some(w.convoys)}/remove`, { items: beads(w, 2) })],
  'close-convoy': [1, (w) => w.post(`convoy/${w.some(w.convoys)}/close`, {})],
  'land-convoy': [1, (w) => w.post(`convoy/${w.some(w.convoys)}/land`, { force: true })],
  'delete-convoy': [1, (w) => ({ method: 'DELETE', path: w.path(`convoy/${w.some(w.convoys)}`) })],
  'send-mail': [
    4,
    (w) =>
      w.post('mail', { to: somebody(w), subject: 's', body: 'b', from: 'mayor' }, { ...key(w), learn: (body) => w.keep(w.mails, body.id) }),
  ],
  'broadcast-mail': [1, (w) => w.post('mail/broadcast', { subject: 'all', body: 'b', from: 'mayor' })],
  'reply-mail': [1, (w) => w.post(`mail/${w.some(w.mails)}/reply`, { body: 'r' })],
  'read-mail': [2, (w) => w.post(`mail/${w.some(w.mails)}/read`)],
  'archive-mail': [1, (w) => w.post(`mail/${w.some(w.mails)}/archive`)],
  'delete-mail': [1, (w) => ({ method: 'DELETE', path: w.path(`mail/${w.some(w.mails)}`) })],
  'create-wait': [
    3,
    (w) =>
      w.post(
        'waits',
        { session: w.some(w.sessions, 'somebody'), dep_ids: beads(w, 3), note: 'n' },
        { ...key(w), learn: (body) => w.keep(w.waits, body.id) },
      ),
  ],
  'ready-wait': [1, (w) => w.post(`wait/${w.some(w.waits)}/ready`)],
  'cancel-wait': [1, (w) => w.post(`wait/${w.some(w.waits)}/cancel`, {})],
};

/** What runs are made of, and what comes by itself. */
export const RUNS: Kinds = {
  sling: [
    6,
    (w) =>
      w.post('sling', { target: w.random.pick(['mayor', 'web/hand', 'docs/hand']), bead: bead(w), reassign: w.random.chance(0.5) }, key(w)),
  ],
  'sling-formula': [
    4,
    (w) =>
      w.post(
        'sling',
        { target: 'mayor', formula: w.random.pick(['tree', 'graph']), attached_bead_id: bead(w), force: w.random.chance(0.3) },
        { ...key(w), learn: (body) => w.keep(w.runs, body.workflow_id) },
      ),
  ],
  'sling-run': [
    3,
    (w) => w.post('sling', { target: 'mayor', formula: 'tree' }, { ...key(w), learn: (body) => w.keep(w.runs, body.workflow_id) }),
  ],
  'sling-batch': [
    1,
    (w) =>
      w.post(
        'sling/batch',
        { target: 'mayor', beads: beads(w, 12), reassign: true },
        { learn: (body) => w.keep(w.batches, body.request_id) },
      ),
  ],
  'sling-convoy': [
    1,
    (w) =>
      w.post(
        'sling/batch',
        { target: 'web/hand', convoy: w.some(w.convoys), formula: 'tree' },
        { learn: (body) => w.keep(w.batches, body.request_id) },
      ),
  ],
  'cancel-batch': [1, (w) => w.post(`sling/batch/${w.some(w.batches)}/cancel`)],
  'create-molecule': [
    2,
    (w) => w.post('molecules', { formula: 'tree', title: 'm', ...(w.random.chance(0.5) ? { attached_bead_id: bead(w) } : {}) }, key(w)),
  ],
  'cancel-run': [3, (w) => w.post(`runs/${w.some(w.runs)}/cancel`, undefined, { both: w.random.chance(0.5) })],
  'delete-workflow': [2, (w) => ({ method: 'DELETE', path: w.path(`workflow/${w.some(w.runs)}?delete=true`) })],
  'run-order': [
    3,
    (w) => w.post(`order/${w.random.pick(['start', 'hand', 'grow'])}/run`, w.random.chance(0.3) ? { force: true } : {}, key(w)),
  ],
  'switch-order': [1, (w) => w.post(`order/${w.random.pick(['start', 'grow', 'tick'])}/${w.random.pick(['enable', 'disable', 'enable'])}`)],
};

/** What is done in steps: a bead on which very many depend, and very many that are slung together. */
export const WIDE: Kinds = {
  'close-hub': [1, (w) => w.post(`bead/${w.hub}/close`, {})],
  'reopen-hub': [1, (w) => w.post(`bead/${w.hub}/reopen`)],
  'sling-many': [
    1,
    (w) =>
      w.post(
        'sling/batch',
        { target: 'mayor', beads: w.dependents.slice(0, 220), reassign: true },
        { learn: (body) => w.keep(w.batches, body.request_id) },
      ),
  ],
};
