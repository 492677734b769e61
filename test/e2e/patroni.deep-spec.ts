import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { adminAt } from '../support/database.js';
import { api } from '../support/http.js';
import { follow, written, Writers, type Follower } from '../support/log-load.js';
import { hasPatroni, PatroniCluster, type PatroniNode } from '../support/patroni.js';
import { migrateAll } from '../support/servers.js';
import { eventually, openStream } from '../support/sse.js';
import { spawnSupervisor, type SupervisorProcess } from '../support/supervisor-process.js';

const CITY = 'alpha';
const NODES = 3;

/** The real Patroni and the real etcd: who leads is decided by nobody else. */
(hasPatroni ? describe : describe.skip)('PostgreSQL under Patroni (skipped: there is no patroni, etcd or postgresql)', () => {
  let dir: string;
  let cluster: PatroniCluster;
  let servers: SupervisorProcess[] = [];
  let urls: string[] = [];
  let followers: Follower[] = [];

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'svc-patroni-data-'));
    cluster = await PatroniCluster.start(NODES);
    await migrateAll(cluster.url);
    const env = { SVC_DATABASE_URL: cluster.url, SVC_DATA_DIR: dir, SVC_RUNNER_ISOLATION: 'none', SVC_PROVIDER_CHECK: 'off' };
    servers = [spawnSupervisor(env), spawnSupervisor(env)];
    urls = await Promise.all(servers.map((server) => server.ready()));
    const feed = await openStream(`${urls[0]}/v0/events/stream`);
    const { body } = await api(urls[0]!).post('/v0/city', { dir: CITY, provider: 'loopback' });
    const end = await feed.until((f) => f.data?.payload?.request_id === body.request_id);
    expect(end.data.type).toBe('request.result.city.create');
    await feed.close();
    followers = urls.map((url) => follow(url, CITY));
  });
  afterAll(async () => {
    for (const { child } of servers) child.kill('SIGTERM');
    await Promise.all(servers.map(({ exited }) => exited));
    await Promise.all(followers.map((follower) => follower.stop()));
    await cluster?.stop();
    await rm(dir, { recursive: true, force: true });
  });

  const epochAt = async (node: PatroniNode): Promise<number> =>
    (await adminAt<{ epoch: number }>(node.url, 'select epoch from deployment'))[0]!.epoch;
  const goesOn = (writers: Writers): Promise<unknown> => {
    const before = writers.acknowledged.size;
    return eventually(() => {
      for (const { child, output } of servers)
        if (child.exitCode !== null || child.signalCode !== null) throw new Error(`a server has ended: ${output().slice(-3_000)}`);
      return writers.acknowledged.size > before + 100;
    });
  };

  /** `harm` under load, until another node leads and writes go on. Gives what was promised, and who led and leads. */
  async function under(harm: (leader: PatroniNode, writers: Writers) => Promise<void>) {
    await cluster.isWhole();
    const old = await cluster.leader();
    const epoch = await epochAt(old);
    const writers = new Writers(urls, CITY, 6);
    try {
      await goesOn(writers);
      await harm(old, writers);
      const leader = await cluster.leader(old);
      await goesOn(writers);
      await writers.stop();
      expect([...writers.others.keys()].filter((status) => status !== 503)).toEqual([]);
      expect(await epochAt(leader)).toBe(epoch + 1);
      return { acknowledged: writers.acknowledged, old, leader };
    } finally {
      await writers.stop();
    }
  }
  async function isExact(acknowledged: ReadonlyMap<number, number>, leader: PatroniNode): Promise<void> {
    const stored = await written(leader.url, CITY);
    for (const [seq, n] of acknowledged) expect([seq, stored.get(seq)]).toEqual([seq, n]);
    for (const follower of followers) {
      await eventually(() => follower.seen.size >= stored.size);
      expect(follower.wrong).toEqual([]);
      expect(follower.seen).toEqual(stored);
    }
  }

  it('promotes by itself when everything of the leader is killed; nothing acknowledged is lost, and the old one comes back', async () => {
    const { acknowledged, old, leader } = await under(async (node) => {
      node.signal('SIGKILL');
    });
    await isExact(acknowledged, leader);
    old.start();
    await eventually(async () => (await old.role()) === 'replica');
    await cluster.isWhole();
  });

  // Guard: an agent, which reaches what its worker reaches, has another node lead.
  it('answers whoever asks, and does what it is told by whoever has its password alone', async () => {
    const { rest, name } = await cluster.leader();
    const asked = (method: string, path: string): Promise<Response> =>
      fetch(`http://127.0.0.1:${rest}/${path}`, { method, body: method === 'POST' ? JSON.stringify({ leader: name }) : undefined });
    expect((await asked('GET', 'leader')).status).toBe(200);
    for (const path of ['switchover', 'failover', 'restart', 'reinitialize'])
      expect([path, (await asked('POST', path)).status]).toEqual([path, 401]);
  });

  it('switches over when it is told to', async () => {
    const { acknowledged, old, leader } = await under(async (node) => {
      const candidate = (await cluster.members()).find(({ role }) => role === 'sync_standby')!;
      await cluster.ctl('switchover', '--leader', node.name, '--candidate', candidate.name, '--force', 'svc');
    });
    await isExact(acknowledged, leader);
    await eventually(async () => (await old.role()) === 'replica');
  });

  // Guard: a leader that loses its power says nothing.
  it('goes on when the leader stands still and says nothing', async () => {
    let frozen: PatroniNode | undefined;
    try {
      const { acknowledged, old, leader } = await under(async (node, writers) => {
        frozen = node;
        const answered = writers.answered();
        node.signal('SIGSTOP');
        // While it stands: whoever waits is told.
        await eventually(answered);
      });
      await isExact(acknowledged, leader);
      old.signal('SIGCONT');
      await eventually(async () => (await old.role()) === 'replica');
      await cluster.isWhole();
      await isExact(acknowledged, leader);
    } finally {
      frozen?.signal('SIGCONT');
    }
  });

  it('gives no number again when commits do not wait for a standby', async () => {
    await cluster.ctl('edit-config', '--set', 'synchronous_mode=false', '--force', 'svc');
    await eventually(async () => (await cluster.members()).every(({ role }) => role !== 'sync_standby'));
    await cluster.isWhole(false);
    const old = await cluster.leader();
    const epoch = await epochAt(old);
    const writers = new Writers(urls, CITY, 6);
    try {
      await goesOn(writers);
      old.signal('SIGKILL');
      const leader = await cluster.leader(old);
      await goesOn(writers);
      await writers.stop();
      expect(await epochAt(leader)).toBe(epoch + 1);
      const stored = await written(leader.url, CITY);
      const begin = Math.max(...stored.keys()) - (Math.max(...stored.keys()) % 1_000_000_000_000);
      for (const follower of followers) {
        await eventually(() => follower.seen.has(Math.max(...stored.keys())));
        expect(follower.wrong).toEqual([]);
        const since = (events: ReadonlyMap<number, number>) => [...events].filter(([seq]) => seq >= begin);
        expect(since(follower.seen)).toEqual(since(stored));
      }
    } finally {
      await writers.stop();
    }
  });
});
