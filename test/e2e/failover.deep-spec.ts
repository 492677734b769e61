import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { connect } from '../../src/client/index.js';
import { adminAt } from '../support/database.js';
import { api, type Api } from '../support/http.js';
import { startPair, type PostgresPair } from '../support/postgres-pair.js';
import { eventually, openStream } from '../support/sse.js';
import { spawnSupervisor, type SupervisorProcess } from '../support/supervisor-process.js';

const CITY = '/v0/city/alpha';
const WRITERS = 6;

/** Two processes of the service over a primary and its standby, whose primary is killed. */
describe.each([
  ['that gets every commit', true],
  ['that may lag behind', false],
])('a standby %s takes over', (_, synchronous) => {
  let dir: string;
  let pair: PostgresPair;
  let servers: SupervisorProcess[] = [];
  let urls: string[];
  let apis: Api[];

  const emit = (at: Api, n: number) => at.post(`${CITY}/events`, { type: 'test.written', actor: 'writer', payload: { n } });

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'svc-failover-'));
    pair = await startPair(synchronous);
    const env = { SVC_DATABASE_URL: pair.url, SVC_DATA_DIR: dir, SVC_RUNNER_ISOLATION: 'none', SVC_PROVIDER_CHECK: 'off' };
    servers = [spawnSupervisor(env)];
    urls = [await servers[0]!.ready()];
    servers.push(spawnSupervisor(env));
    urls.push(await servers[1]!.ready());
    apis = urls.map((url) => api(url));
    const feed = await openStream(`${urls[0]}/v0/events/stream`);
    const { body } = await apis[0]!.post('/v0/city', { dir: 'alpha', provider: 'loopback' });
    const end = await feed.until((f) => f.data?.payload?.request_id === body.request_id);
    expect(end.data.type).toBe('request.result.city.create');
    await feed.close();
  });
  afterEach(async () => {
    for (const { child } of servers) child.kill('SIGTERM');
    await Promise.all(servers.map(({ exited }) => exited));
    await pair.stop();
    await rm(dir, { recursive: true, force: true });
  });

  /** What follows the city for ever, as programs do. */
  function follow(url: string): { seen: Map<number, number>; twice: number[]; stop(): void; ended: Promise<void> } {
    const aborted = new AbortController();
    const seen = new Map<number, number>();
    const twice: number[] = [];
    const ended = (async () => {
      for await (const event of connect({ url }).events({
        city: 'alpha',
        types: ['test.written'],
        after: 0,
        signal: aborted.signal,
        pauseMs: 100,
      })) {
        const { n } = event.payload as { n: number };
        if (seen.has(event.seq)) twice.push(event.seq);
        seen.set(event.seq, n);
      }
    })();
    return { seen, twice, stop: () => aborted.abort(), ended };
  }
  const acknowledges = (at: Api): Promise<unknown> =>
    eventually(async () => (await emit(at, -1).catch(() => ({ status: 0 }))).status === 201);

  if (synchronous)
    it('and has all that was acknowledged; everybody goes on by themselves', async () => {
      const followers = urls.map(follow);
      const acknowledged = new Map<number, number>();
      let writing = true;
      let n = 0;
      const writers = Array.from({ length: WRITERS }, async (_unused, w) => {
        while (writing) {
          const mine = ++n;
          const reply = await emit(apis[w % 2]!, mine).catch(() => undefined);
          if (reply?.status === 201) acknowledged.set(reply.body.seq as number, mine);
        }
      });
      await eventually(() => acknowledged.size > 100);
      await pair.killPrimary();
      const before = acknowledged.size;
      await pair.promote();
      await eventually(() => acknowledged.size > before + 100);
      writing = false;
      await Promise.all(writers);
      const rows = await adminAt<{ seq: string; n: string }>(
        pair.standby,
        `select e.seq, e.payload ->> 'n' as n from events e join event_streams s on s.id = e.stream_id
         where s.name = 'alpha' and e.type = 'test.written' order by e.seq`,
      );
      const stored = new Map(rows.map(({ seq, n: of }) => [Number(seq), Number(of)]));
      for (const [seq, of] of acknowledged) expect([seq, stored.get(seq)]).toEqual([seq, of]);
      for (const follower of followers) {
        await eventually(() => follower.seen.size >= stored.size);
        follower.stop();
        await follower.ended;
        expect(follower.twice).toEqual([]);
        expect(follower.seen).toEqual(stored);
      }
      expect(await adminAt(pair.standby, 'select epoch from deployment')).toEqual([{ epoch: 2 }]);
    });
  else
    it('and gives no number again; who had read what was lost is told, and goes on', async () => {
      for (let n = 1; n <= 5; n++) await emit(apis[0]!, n);
      const replayed = async (): Promise<boolean> =>
        (await adminAt(pair.standby, `select from events where type = 'test.written'`)).length === 5;
      await eventually(replayed);
      const shared = Number((await apis[0]!.get(`${CITY}/events?limit=1`)).headers.get('x-svc-index'));
      await pair.cut();
      const follower = follow(urls[1]!);
      for (let n = 6; n <= 8; n++) await emit(apis[0]!, n);
      await eventually(() => follower.seen.size === 8);
      const lost = Math.max(...follower.seen.keys());
      await pair.killPrimary();
      await pair.promote();
      for (const at of apis) await acknowledges(at);
      await eventually(() => [...follower.seen.values()].includes(-1));
      follower.stop();
      await follower.ended;
      expect(follower.twice).toEqual([]);
      for (const url of urls) {
        const refused = await fetch(`${url}${CITY}/events/stream`, { headers: { 'last-event-id': `${lost}` } });
        const problem = (await refused.json()) as { code: string; detail: string };
        expect([refused.status, problem.code]).toEqual([410, 'cursor-ahead']);
        expect(problem.detail).toMatch(/; go on from \d+$/);
        expect(Number(/(\d+)$/.exec(problem.detail)![1])).toBeGreaterThanOrEqual(shared);
      }
    });
});
