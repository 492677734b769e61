import type { Kinds } from './world.js';

/** Events, and what a city says of itself. */
export const EVENTS: Kinds = {
  emit: [10, (w) => w.post('events', { type: w.random.pick(['storm.one', 'storm.two', 'storm.three']), actor: 'me' })],
  'emit-keyed': [
    5,
    (w) =>
      w.post('events', { type: 'storm.two', actor: 'me' }, { headers: { 'Idempotency-Key': `e-${w.random.int(1, 400)}` }, both: true }),
  ],
};

export const CONFIGURATION: Kinds = {
  reload: [1, (w) => w.post('config/reload')],
  'patch-agent': [1, (w) => ({ method: 'PATCH', path: w.path('agent/clerk'), body: { description: `d${w.next()}` } })],
  'switch-agent': [
    2,
    (w) => w.post(`agent/${w.random.pick(['clerk', 'mayor', 'web/hand'])}/${w.random.pick(['suspend', 'resume', 'resume'])}`),
  ],
  'create-agent': [
    1,
    (w) => {
      const name = `extra${w.next()}`;
      return w.post('agents', { name, provider: 'loopback' }, { learn: () => w.keep(w.agents, name) });
    },
  ],
  'delete-agent': [
    1,
    (w) => {
      const name = w.some(w.agents);
      w.forget(w.agents, name);
      return { method: 'DELETE', path: w.path(`agent/${name}`) };
    },
  ],
  'patch-of-agent': [1, (w) => ({ method: 'PUT', path: w.path('patches/agents'), body: { name: 'clerk', env: { N: `${w.next()}` } } })],
  'switch-rig': [1, (w) => w.post(`rig/docs/${w.random.pick(['suspend', 'resume', 'resume'])}`)],
  'save-formula': [
    1,
    (w) => ({
      method: 'PUT',
      path: w.path('formulas/extra'),
      body: `formula = "extra"\n[[steps]]\nid = "one"\ntitle = "One ${w.next()}"\n`,
      headers: { 'Content-Type': 'application/octet-stream' },
    }),
  ],
  'mail-settings': [1, (w) => ({ method: 'PUT', path: w.path('mail/settings'), body: { unread_retention: w.random.pick(['30d', null]) } })],
  maintenance: [1, (w) => w.post('maintenance/dolt-gc')],
  'create-key': [
    1,
    (w) => ({
      method: 'POST',
      path: '/v0/keys',
      body: { name: `key-${w.name}-${w.next()}`, scope: 'read' },
      learn: (body) => w.keep(w.keys, body.id),
    }),
  ],
  'delete-key': [1, (w) => ({ method: 'DELETE', path: `/v0/keys/${w.some(w.keys)}` })],
};

/** Ends what others are at: they are refused meanwhile. */
export const LIFE: Kinds = {
  'stop-city': [1, (w) => w.post('stop')],
  'start-city': [3, (w) => w.post('start')],
  'suspend-city': [1, (w) => ({ method: 'PATCH', path: `/v0/city/${w.name}`, body: { suspended: true } })],
  'resume-city': [2, (w) => ({ method: 'PATCH', path: `/v0/city/${w.name}`, body: { suspended: false } })],
};
