import { afterEach, describe, expect, it } from '@jest/globals';
import { runCli } from '../cli.js';
import { fakeIo } from '../testing/io.js';
import { anEvent, json, testServer, type TestServer } from '../testing/server.js';

let server: TestServer;
afterEach(() => server.close());

const SESSION = {
  id: 'al-7',
  state: 'active',
  template: 'mayor',
  title: '',
  session_name: 'al-7',
  provider: 'loopback',
  created_at: '2026-01-02T00:00:00Z',
  running: true,
  attached: false,
};

const WORKS = [{ state: 'active', lease_age_s: 2 }];

async function why(session: object, events: readonly Record<string, unknown>[] = [], runners: readonly object[] = WORKS): Promise<string> {
  server = await testServer({
    '/v0/runners': (_request, response) => json(response, { items: runners, total: runners.length }),
    '/v0/city/alpha/session/al-7': (_request, response) => json(response, { ...SESSION, ...session }),
    '/v0/city/alpha/session/al-7/pending': (_request, response) => json(response, { items: [] }),
    '/v0/city/alpha/session/al-7/messages': (_request, response) => json(response, { items: [], total: 0 }),
    '/v0/city/alpha/events': (request, response) => {
      const type = new URL(request.url!, 'http://x').searchParams.get('type');
      const items = events.filter((event) => event.type === type).slice(0, 1);
      json(response, { items, total: items.length });
    },
  });
  const io = fakeIo();
  expect(await runCli(['why', 'al-7', '--kind', 'session', '--city', 'alpha', '--api', server.url], io)).toBe(0);
  return io.stdout;
}

describe('svc why SESSION', () => {
  const turn = (how: string, ts: string) => anEvent(7, { type: 'session.turn.ended', ts, payload: { stop_reason: how } });
  const stopped = (why: string, seq = 8) =>
    anEvent(seq, { type: 'session.stopped', ts: '2026-01-02T10:00:03Z', payload: { session_id: 'al-7', reason: why } });
  const AT_THE_STOP = '2026-01-02T10:00:02Z';

  it.each([
    ['cancelled', 'handover'],
    ['lost', 'handover'],
  ])('says that the stop of its worker has cut its last turn off: %s, %s', async (how, reason) => {
    expect(await why({}, [turn(how, AT_THE_STOP), stopped(reason)])).toContain(
      '  its last turn was cut off when its worker stopped: send again\n    ended by: svc session send al-7 …\n',
    );
  });

  it.each<[string, object, readonly Record<string, unknown>[]]>([
    ['a turn that was done', {}, [turn('end_turn', AT_THE_STOP), stopped('handover')]],
    ['a turn that somebody has stopped', {}, [turn('cancelled', AT_THE_STOP), stopped('killed')]],
    ['a turn that was stopped long before', {}, [turn('cancelled', '2026-01-02T09:00:00Z'), stopped('handover')]],
    ['a turn after that', {}, [turn('cancelled', AT_THE_STOP), stopped('handover', 6)]],
    ['a turn that goes on', { activity: 'in-turn' }, [turn('cancelled', AT_THE_STOP), stopped('handover')]],
    ['no turn at all', {}, []],
  ])('says nothing of that after %s', async (_what, session, events) => {
    expect(await why(session, events)).not.toContain('cut off');
  });

  it.each([
    ['asleep', 'suspended', ': it was stopped when its city, its rig or its agent was suspended'],
    ['asleep', 'killed', ': the last one has ended (killed)'],
    ['asleep', undefined, ''],
    ['suspended', 'user-hold', ' (user-hold)'],
  ])('tells what was as what was: %s, %s', async (state, reason, said) => {
    expect(await why({ state, running: false, ...(reason === undefined ? {} : { reason }) })).toContain(`\n  it has no process${said}\n`);
  });

  // Guard: with the last worker killed each of its sessions was said to be idle, with the words to send it something.
  it.each<[string, object]>([
    ['idle', {}],
    ['in a turn', { activity: 'in-turn' }],
    ['to be started', { state: 'start-pending', running: false }],
  ])('says that no worker is alive of one that its row says is %s', async (_what, session) => {
    for (const runners of [[], [{ state: 'active', lease_age_s: 16 }]]) {
      expect((await why(session, [], runners)).split('\n').slice(1)).toEqual([
        '  no worker that runs agents is alive, so nothing of it goes on',
        '    ended by: the start of a worker: `SVC_ROLE=worker svc serve`; see `svc doctor`',
        '',
      ]);
    }
  });

  it('says what the row says where one worker of several is alive', async () => {
    expect(await why({}, [], [{ state: 'active', lease_age_s: 90 }, ...WORKS])).toContain('\n  it is idle\n');
  });
});
