import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { adminAt, emptyDatabase, type TestDatabase } from '../support/database.js';
import { api } from '../support/http.js';
import { follow, written, Writers, type Follower } from '../support/log-load.js';
import { previousRelease, unpack, type Unpacked } from '../support/previous-release.js';
import { freePort } from '../support/redis.js';
import { migrateAll } from '../support/servers.js';
import { eventually } from '../support/sse.js';
import { spawnSupervisor, type SupervisorProcess } from '../support/supervisor-process.js';

const CITY = 'alpha';
const release = previousRelease();

/** What an upgrade is: the previous release goes on beside the new schema, then process after process is replaced. */
(typeof release === 'string' ? describe.skip : describe)(
  `the previous release under load${typeof release === 'string' ? ` (skipped: ${release})` : ''}`,
  () => {
    let dir: string;
    let database: TestDatabase;
    let old: Unpacked;
    let apis: SupervisorProcess[] = [];
    let worker: SupervisorProcess;
    let ports: number[];
    let urls: string[];
    let followers: Follower[] = [];

    const start = (role: 'api' | 'worker', port: number, at?: string): SupervisorProcess =>
      spawnSupervisor(
        {
          SVC_DATABASE_URL: database.url,
          SVC_DATA_DIR: dir,
          SVC_ROLE: role,
          SVC_PORT: `${port}`,
          SVC_RUNNER_ISOLATION: 'none',
          SVC_PROVIDER_CHECK: 'off',
        },
        at === undefined ? {} : { at },
      );

    beforeAll(async () => {
      dir = await mkdtemp(join(tmpdir(), 'svc-upgrade-'));
      database = await emptyDatabase();
      if (typeof release !== 'string') old = await unpack(release);
      const env = { ...process.env, SVC_DATABASE_URL: database.url, SVC_DATA_DIR: dir };
      const migrate = ['--import', `${old.root}scripts/typescript.mjs`, `${old.root}src/entry/migrate.ts`];
      await promisify(execFile)(process.execPath, migrate, { cwd: old.root, env });
      ports = [await freePort(), await freePort()];
      urls = ports.map((port) => `http://127.0.0.1:${port}`);
      apis = ports.map((port) => start('api', port, old.root));
      worker = start('worker', await freePort(), old.root);
      await Promise.all([...apis, worker].map((one) => one.ready()));
    });
    afterAll(async () => {
      await Promise.all(followers.map((follower) => follower.stop()));
      const running = [...apis, worker].filter((one) => one !== undefined);
      for (const { child } of running) child.kill('SIGTERM');
      await Promise.all(running.map(({ exited }) => exited));
      await old?.dispose();
      await database?.drop();
      await rm(dir, { recursive: true, force: true });
    });

    /** A city, made by whichever process answers, until it is there. */
    async function make(name: string): Promise<void> {
      const headers = { 'Idempotency-Key': `make-${name}` };
      const made = await eventually(async () => {
        for (const url of urls) {
          const reply = await api(url, headers)
            .post('/v0/city', { dir: name, provider: 'loopback' })
            .catch(() => undefined);
          if (reply !== undefined && reply.status !== 503) return reply;
        }
        return undefined;
      });
      expect([name, made.status]).toEqual([name, 202]);
      const ended = (): Promise<{ type: string }[]> =>
        adminAt(database.url, `select type from events where payload ->> 'request_id' = $1 and type like 'request.%'`, [
          made.body.request_id,
        ]);
      await eventually(async () => (await ended()).length > 0);
      expect(await ended()).toEqual([{ type: 'request.result.city.create' }]);
    }

    async function stopped(server: SupervisorProcess): Promise<void> {
      server.child.kill('SIGTERM');
      expect(await server.exited).toEqual({ code: 0, signal: null });
    }

    it('lives with the migrated database, and is replaced without losing anything', async () => {
      await make(CITY);
      followers = urls.map((url) => follow(url, CITY));
      const writers = new Writers(urls, CITY, 4);
      const beads = new Map<string, string>();
      const refused = new Map<string, number>();
      let isOver = false;
      const handing = urls.map(async (_, w) => {
        for (let n = 0, at = w; !isOver; n++) {
          const title = `bead ${w} ${n}`;
          const reply = await api(urls[at % urls.length]!)
            .post(`/v0/city/${CITY}/beads`, { title })
            .catch((error: unknown) => error as Error);
          if ('status' in reply && reply.status === 201) beads.set(reply.body.id as string, title);
          else {
            const said = 'status' in reply ? `${reply.status} ${reply.text}` : reply.message;
            refused.set(said, (refused.get(said) ?? 0) + 1);
            at++;
          }
        }
      });
      const goesOn = async (): Promise<void> => {
        const [events, work] = [writers.acknowledged.size, beads.size];
        await eventually(() => writers.acknowledged.size > events + 100 && beads.size > work + 20);
      };
      try {
        await goesOn();
        await migrateAll(database.url);
        await goesOn();
        await make('by-the-old-one');
        // Nobody has noticed.
        expect([...writers.others.keys(), ...refused.keys()]).toEqual([]);

        const next = start('worker', await freePort());
        await next.ready();
        await stopped(worker);
        worker = next;
        await make('by-the-new-worker');
        for (const [i, port] of ports.entries()) {
          await stopped(apis[i]!);
          await goesOn();
          apis[i] = start('api', port);
          await apis[i].ready();
          await goesOn();
        }
        await make('by-the-new-ones');
      } finally {
        isOver = true;
        await Promise.all([writers.stop(), ...handing]);
      }
      // What was asked of one that is being replaced: no connection, or that it stops.
      expect([...writers.others.keys()].filter((status) => status !== 0 && status !== 503)).toEqual([]);
      expect([...refused.keys()].filter((said) => !/^503 |ECONNREFUSED|ECONNRESET|socket hang up/.test(said))).toEqual([]);

      const stored = await written(database.url, CITY);
      for (const [seq, n] of writers.acknowledged) expect([seq, stored.get(seq)]).toEqual([seq, n]);
      for (const follower of followers) {
        await eventually(() => follower.seen.size >= stored.size);
        expect(follower.wrong).toEqual([]);
        expect(follower.seen).toEqual(stored);
      }
      const kept = await adminAt<{ id: string; title: string }>(
        database.url,
        'select b.id, b.title from beads b join event_streams s on s.id = b.stream_id where s.name = $1',
        [CITY],
      );
      const titles = new Map(kept.map(({ id, title }) => [id, title]));
      for (const [id, title] of beads) expect([id, titles.get(id)]).toEqual([id, title]);
      for (const [i, id] of [...beads.keys()].slice(-2).entries())
        expect((await api(urls[i]!).get(`/v0/city/${CITY}/bead/${id}`)).body.title).toBe(beads.get(id));
      expect((await api(urls[1]!).get('/v0/cities')).body.items).toHaveLength(4);
    });
  },
);
