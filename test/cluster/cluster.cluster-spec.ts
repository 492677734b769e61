import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { api, type Api, type Reply } from '../support/http.js';
import { eventually, openStream } from '../support/sse.js';
import { Feed, insist } from './client.js';
import { folder, removeFolders } from '../support/folders.js';
import { Cluster, docker, pageOf } from './compose.js';

let cluster: Cluster;
let key: string;
let client: Api;
let authorization: Record<string, string>;
let made = 0;

const cursorOfNow = async (): Promise<string> => {
  const reply = await insist(cluster.url, key, '/v0/city', { dir: `cursor-${++made}`, provider: 'loopback' });
  return reply.body.event_cursor;
};

/** `n` creates at once through the proxy, each repeated until it is accepted. */
const createMany = (n: number): Promise<Reply[]> =>
  Promise.all(Array.from({ length: n }, () => insist(cluster.url, key, '/v0/city', { dir: `city-${++made}`, provider: 'loopback' })));

async function expectOneEndEach(feed: Feed, replies: readonly Reply[]): Promise<void> {
  for (const reply of replies) {
    expect(reply.status).toBe(202);
    const ends = await feed.ends(reply.body.request_id);
    expect(ends.map((e) => e.type)).toEqual(['request.result.city.create']);
  }
  expect(feed.faults()).toEqual([]);
}

let feeds: Feed[] = [];

function follow(cursor: string): Feed {
  const feed = new Feed(cluster.url, key, cursor);
  feeds.push(feed);
  return feed;
}

/** How many streams of events an api carries. */
async function streamsOf(id: string): Promise<number> {
  const ask = `fetch('http://127.0.0.1:' + process.env.SVC_PORT + '/metrics', { headers: ${JSON.stringify(authorization)} })`;
  const metrics = await docker('exec', id, 'node', '-e', `${ask}.then(async (r) => console.log(await r.text()))`);
  return Number(/^svc_streams_open(?:\{.*\})? (\d+)/m.exec(metrics)?.[1]);
}

const page = (name: string): string[][] => pageOf(readFileSync(new URL(`../../docs/how-to/${name}.md`, import.meta.url), 'utf8'));

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

beforeAll(async () => {
  cluster = await Cluster.up();
  key = await cluster.adminKey();
  authorization = { Authorization: `Bearer ${key}` };
  client = api(cluster.url, authorization);
}, 1_500_000);

afterEach(async () => {
  await Promise.all(feeds.map((feed) => feed.close()));
  feeds = [];
});

afterAll(async () => {
  await cluster?.down();
  await removeFolders();
}, 300_000);

describe('the cluster', () => {
  it('is used as its page says it', async () => {
    const [commands] = page('cluster');
    expect(await cluster.typed(await folder('svc-cluster-'), commands!)).toMatch(/alpha is running/);
  });

  it('can have workers with the programs of agents', async () => {
    const versions = await cluster.versions(['claude', 'codex', 'gemini']);
    for (const version of versions) expect(version).toMatch(/\d+\.\d+\.\d+/);
  }, 900_000);

  it('has two apis and two workers, none of them as root, and asks for a key', async () => {
    expect(await cluster.containers('api')).toHaveLength(2);
    expect(await cluster.containers('worker')).toHaveLength(2);
    for (const id of [...(await cluster.containers('api')), ...(await cluster.containers('worker'))]) {
      expect((await docker('exec', id, 'id', '-u')).trim()).not.toBe('0');
    }
    expect((await api(cluster.url).get('/v0/cities')).status).toBe(401);
    expect((await client.get('/v0/cities')).status).toBe(200);
  });

  it('creates a city, streams it through the proxy, stops, starts and unregisters it', async () => {
    const feed = await openStream(`${cluster.url}/v0/events/stream`, { headers: authorization });
    expect(feed.response.headers.get('content-type')).toContain('text/event-stream');
    const end = (id: string, type: string) => feed.until((f) => f.data?.type === type && f.data?.payload?.request_id === id, 120_000);

    const created = await client.post('/v0/city', { dir: 'tour', provider: 'loopback' });
    expect(created.status).toBe(202);
    await end(created.body.request_id, 'request.result.city.create');

    const city = await openStream(`${cluster.url}/v0/city/tour/events/stream?after_seq=0`, { headers: authorization });
    await city.until((f) => f.data?.type === 'city.created');
    await client.post('/v0/city/tour/events', { type: 'demo.said', actor: 'someone', message: 'hello' });
    await city.until((f) => f.data?.type === 'demo.said', 10_000); // a buffer would hold it until a heartbeat, 15 s later
    await city.close();

    for (const step of ['stop', 'start', 'unregister']) {
      const accepted = await client.post(`/v0/city/tour/${step}`);
      expect(accepted.status).toBe(202);
      await end(accepted.body.request_id, `request.result.city.${step}`);
    }
    expect((await client.get('/v0/city/tour')).status).toBe(404);
    await feed.close();
  });

  it('loses nothing when an api is killed in the middle of creates and streams', async () => {
    const cursor = await cursorOfNow();
    const four = [1, 2, 3, 4].map(() => follow(cursor));
    // The proxy may have led all of them to one api: the one to die is one that carries some.
    const victim = await eventually(async () => {
      const carried = await Promise.all((await cluster.containers('api')).map(async (id) => ({ id, streams: await streamsOf(id) })));
      const open = carried.reduce((n, { streams }) => n + streams, 0);
      return open === four.length ? carried.find(({ streams }) => streams > 0)!.id : undefined;
    }, 60_000);
    const creates = createMany(20);
    await pause(150);
    await cluster.kill(victim);
    const replies = [...(await creates), ...(await createMany(5))];
    for (const feed of four) await expectOneEndEach(feed, replies);
    expect(four.reduce((n, feed) => n + feed.reconnects, 0)).toBeGreaterThan(0);
    await cluster.revive(victim);
  });

  it('finishes what a killed worker had begun', async () => {
    const feed = follow(await cursorOfNow());
    const [victim] = await cluster.containers('worker');
    const creates = createMany(20);
    await pause(150);
    await cluster.kill(victim!);
    await expectOneEndEach(feed, await creates);
    await cluster.revive(victim!);
  });

  it('works on without Redis, and with it again', async () => {
    const feed = follow(await cursorOfNow());
    const [redis] = await cluster.containers('redis');
    const creates = createMany(10);
    await pause(100);
    await cluster.kill(redis!);
    await expectOneEndEach(feed, [...(await creates), ...(await createMany(3))]);
    await cluster.revive(redis!);
    await expectOneEndEach(feed, await createMany(3));
  });

  it('takes a third api in, and the proxy finds it', async () => {
    await cluster.compose('up', '-d', '--no-recreate', '--scale', 'api=3');
    const apis = await eventually(async () => {
      const ids = await cluster.containers('api');
      return ids.length === 3 ? ids : undefined;
    }, 120_000);
    await eventually(async () => {
      await Promise.all(Array.from({ length: 20 }, () => client.get('/v0/cities')));
      return apis.every((id) => logs(id).includes('"operation":'));
    }, 300_000);
  });

  it('restarts its apis one after the other without losing an event', async () => {
    const feed = follow(await cursorOfNow());
    for (const id of await cluster.containers('api')) {
      await docker('stop', '--time', '15', id);
      expect(await docker('inspect', '--format', '{{.State.ExitCode}}', id)).toContain('0');
      await expectOneEndEach(feed, await createMany(2));
      await cluster.revive(id);
    }
  });
});

describe('the page about upgrades', () => {
  it('replaces everything by another image, and loses nothing meanwhile', async () => {
    const tag = `${cluster.name}-new`;
    const commands = page('upgrade')[0]!.map((command) => command.replace('git pull && ', '').replaceAll('SVC_TAG=new', `SVC_TAG=${tag}`));
    const feed = follow(await cursorOfNow());
    const replies: Reply[] = [];
    let isOver = false;
    const asking = (async () => {
      while (!isOver) {
        replies.push(...(await createMany(1)));
        await pause(500);
      }
    })();
    try {
      await cluster.typed(await folder('svc-cluster-upgrade-'), [`export SVC_API_KEY=${key}`, ...commands]);
    } finally {
      isOver = true;
      await asking;
    }
    const running = [...(await cluster.containers('api')), ...(await cluster.containers('worker'))];
    const images = await Promise.all(running.map((id) => docker('inspect', '--format', '{{.Config.Image}}', id)));
    expect(new Set(images.map((image) => image.trim()))).toEqual(new Set([`supervisor-control-plane:${tag}`]));
    expect(replies.length).toBeGreaterThan(0);
    await expectOneEndEach(feed, replies);
  });
});

describe('the page about backups', () => {
  const blocks = page('backup');
  const having = (word: string, without = '\0'): string[] =>
    blocks.find(
      (commands) => commands.some((command) => command.includes(word)) && !commands.some((command) => command.includes(without)),
    )!;
  const names = async (): Promise<string[]> => (await client.get('/v0/cities')).body.items.map(({ name }: { name: string }) => name);
  const asked = async (at: string, query: string, database: string): Promise<string> => {
    const psql = `docker compose exec -T postgres psql --username=svc --no-align --tuples-only --command='${query}' ${database}`;
    return (await cluster.typed(at, [psql])).trim();
  };
  const make = async (name: string): Promise<void> => {
    const feed = follow(await cursorOfNow());
    await expectOneEndEach(feed, [await insist(cluster.url, key, '/v0/city', { dir: name, provider: 'loopback' })]);
  };

  it('brings a cluster back as it was', async () => {
    const at = await folder('svc-cluster-backup-');
    await make('kept');
    await cluster.typed(at, having('> pgdata.tgz'));
    await eventually(async () => (await cluster.status('/ready')) === 200, 300_000);
    await make('lost');
    await cluster.typed(at, [`export SVC_API_KEY=${key}`, ...having('down -v').filter((command) => !command.startsWith('svc'))]);
    await eventually(async () => (await cluster.status('/ready')) === 200, 300_000);
    expect(await names()).toContain('kept');
    expect(await names()).not.toContain('lost');
    // What was lost may have been read: its numbers are not given again.
    expect(await asked(at, 'select epoch from deployment', 'svc')).toBe('2');
  });

  it('copies its database while it runs, with the programs of its own version', async () => {
    const at = await folder('svc-cluster-dump-');
    const first = async (command: string): Promise<string> =>
      /\d+/.exec(await cluster.typed(at, [`docker compose exec -T postgres ${command}`]))![0];
    const [server, programs] = [await first('postgres --version'), await first('pg_dump --version')];
    // An image that stands in for the published one may have programs of another version than its server: these refuse each other.
    if (server !== programs) return console.error(`SKIPPED: pg_dump ${programs} copies no database of PostgreSQL ${server}`);
    await cluster.typed(at, having('exec -T postgres pg_dump'));
    const restored = [
      'exec -T postgres createdb --username=svc again',
      'exec -T postgres pg_restore --username=svc --no-owner --exit-on-error --dbname=again < svc.dump',
    ];
    await cluster.typed(
      at,
      restored.map((command) => `docker compose ${command}`),
    );
    const count = (database: string): Promise<string> => asked(at, 'select count(*) from cities', database);
    expect(await count('again')).toBe(await count('svc'));
  });
});

/** The logs go to stderr. */
function logs(id: string): string {
  return spawnSync('docker', ['logs', id], { encoding: 'utf8', maxBuffer: 1 << 28 }).stderr;
}
