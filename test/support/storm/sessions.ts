import type { Kinds, StormWorld } from './world.js';

const session = (w: StormWorld): string => (w.random.chance(0.1) ? w.random.pick(['mayor', 'deacon']) : w.some(w.sessions));
const text = (w: StormWorld): string => w.random.pick(['ask', 'tool', 'wait 200', 'stream 5 10', 'usage', 'hello', 'crash']);
const key = (w: StormWorld): object =>
  w.random.chance(0.3) ? { headers: { 'Idempotency-Key': `s-${w.next()}` }, both: w.random.chance(0.7) } : {};
const learn = (w: StormWorld) => (body: any) => w.keep(w.sessions, body.session_id);

/** Sessions: what people ask of them. */
export const SESSIONS: Kinds = {
  'create-session': [
    3,
    (w) =>
      w.post(
        'sessions',
        { kind: 'provider', name: 'loopback', title: 't', ...(w.random.chance(0.5) ? { message: text(w) } : {}) },
        { ...key(w), learn: learn(w) },
      ),
  ],
  'create-agent-session': [
    1,
    (w) => w.post('sessions', { kind: 'agent', name: 'web/hand', alias: `al${w.random.int(1, 5)}` }, { ...key(w), learn: learn(w) }),
  ],
  'message-session': [6, (w) => w.post(`session/${session(w)}/messages`, { message: text(w) }, key(w))],
  'submit-session': [
    4,
    (w) => w.post(`session/${session(w)}/submit`, { message: text(w), intent: w.random.pick(['default', 'follow_up', 'interrupt_now']) }),
  ],
  'patch-session': [
    4,
    (w) => ({
      method: 'PATCH',
      path: w.path(`session/${session(w)}`),
      body: { title: `t${w.next()}`, ...(w.random.chance(0.5) ? { alias: `al${w.random.int(1, 5)}` } : {}) },
    }),
  ],
  'rename-session': [2, (w) => w.post(`session/${session(w)}/rename`, { title: `r${w.next()}` })],
  'stop-session': [3, (w) => w.post(`session/${session(w)}/stop`)],
  'kill-session': [1, (w) => w.post(`session/${session(w)}/kill`)],
  'suspend-session': [2, (w) => w.post(`session/${session(w)}/suspend`)],
  'wake-session': [2, (w) => w.post(`session/${session(w)}/wake`)],
  'drain-session': [1, (w) => w.post(`session/${session(w)}/drain`)],
  'reset-session': [1, (w) => w.post(`session/${session(w)}/reset`)],
  'close-session': [3, (w) => w.post(`session/${session(w)}/close`, undefined, { both: w.random.chance(0.3) })],
  'delete-session': [1, (w) => w.post(`session/${w.some(w.sessions)}/close?delete=true`)],
  'respond-session': [2, (w) => w.post(`session/${session(w)}/respond`, { action: 'allow' })],
  'accept-drift': [1, (w) => w.post('sessions/accept-drift', {})],
};

/** What comes from outside and goes there. */
export const MESSAGES: Kinds = {
  inbound: [
    10,
    (w) => {
      const actor = { id: 'U1', display_name: 'Ann', is_bot: false };
      const message = {
        provider_message_id: `m-${w.next()}`,
        conversation: w.conversation(),
        actor,
        text: '@a hello',
        received_at: '2026-01-01T00:00:00Z',
      };
      return w.post('extmsg/inbound', { message }, { both: w.random.chance(0.3) });
    },
  ],
  bind: [
    4,
    (w) =>
      w.post('extmsg/bind', {
        conversation: w.conversation(),
        ...(w.random.chance(0.7) ? { session_id: session(w) } : { agent_name: 'mayor' }),
        replace: w.random.chance(0.7),
      }),
  ],
  unbind: [
    2,
    (w) =>
      w.post(
        'extmsg/unbind',
        w.random.chance(0.5) ? { conversation: w.conversation(), session_id: session(w) } : { session_id: session(w) },
      ),
  ],
  group: [
    2,
    (w) =>
      w.post(
        'extmsg/groups',
        { root_conversation: w.conversation({ provider: 'chat' }), default_handle: 'a' },
        { learn: (body) => w.keep(w.groups, body.ID) },
      ),
  ],
  participant: [
    4,
    (w) => w.post('extmsg/participants', { group_id: w.some(w.groups), handle: w.random.pick(['a', 'b', 'c']), session_id: session(w) }),
  ],
  'remove-participant': [
    2,
    (w) => ({
      method: 'DELETE',
      path: w.path('extmsg/participants'),
      body: { group_id: w.some(w.groups), handle: w.random.pick(['a', 'b', 'c']) },
    }),
  ],
  outbound: [
    6,
    (w) =>
      w.post('extmsg/outbound', {
        conversation: w.conversation(),
        session_id: session(w),
        text: 'hi',
        ...(w.random.chance(0.3) ? { idempotency_key: `o-${w.random.int(1, 20)}` } : {}),
      }),
  ],
  'ack-transcript': [
    2,
    (w) => w.post('extmsg/transcript/ack', { conversation: w.conversation(), session_id: session(w), sequence: w.random.int(1, 5) }),
  ],
  adapter: [1, (w) => w.post('extmsg/adapters', { provider: 'chat', account_id: `x-${w.random.int(1, 3)}`, transport: 'stream' })],
  'remove-adapter': [
    1,
    (w) => ({ method: 'DELETE', path: w.path('extmsg/adapters'), body: { provider: 'chat', account_id: `x-${w.random.int(1, 3)}` } }),
  ],
};
