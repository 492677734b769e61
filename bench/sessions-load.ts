import { parseArgs } from 'node:util';
import { Child } from './lib/child.js';
import { Context, withTempDir } from './lib/context.js';
import { BenchPostgres } from './lib/database.js';
import { CLIENT_CORE, rssKb, sleep, treeSeconds } from './lib/machine.js';
import { count, machineLine } from './lib/report.js';
import { call, runningCity, until } from './lib/running-city.js';
import type { Service } from './lib/service.js';

/**
 * `npm run bench:sessions`: so many sessions of the shipped agent at once, each speaking for minutes to several subscribers on
 * another replica. Says whether every subscriber has every word, and what the processes hold at the beginning and at the end.
 * Each agent is a process of about 75 MB.
 */
const { values: options } = parseArgs({
  options: {
    sessions: { type: 'string', default: '200' },
    subscribers: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '120' },
    /** Milliseconds between two chunks of a session. */
    every: { type: 'string', default: '500' },
  },
});
const [sessions, subscribers, seconds, every] = [options.sessions, options.subscribers, options.seconds, options.every].map(Number) as [
  number,
  number,
  number,
  number,
];
const CITY = 'crowd';
const FILES = [['city.toml', '[workspace]\nprovider = "loopback"\n\n[providers.loopback]\nbase = "builtin:loopback"\n']] as const;
const say = (text: string): void => void process.stderr.write(`${text}\n`);

interface Held {
  readonly rss: number;
  readonly heap: number;
}

async function held(service: Service): Promise<Held> {
  const { heapUsed } = await service.child.call<NodeJS.MemoryUsage>('collect');
  return { rss: rssKb(service.pid) / 1024, heap: heapUsed / 1024 ** 2 };
}

const shown = ({ rss, heap }: Held): string => `${rss.toFixed(0)} MB resident, ${heap.toFixed(1)} MB of heap`;

async function crowd(context: Context): Promise<boolean> {
  const url = await context.postgres.database(1);
  const flags = ['--expose-gc'];
  const runner = await context.service(url, {
    role: 'all',
    core: undefined,
    flags,
    env: { SVC_RUNNER_CAPACITY: String(sessions + 8), SVC_RUNNER_CAPACITY_PER_CITY: String(sessions + 8) },
  });
  const streams = await context.service(url, { core: undefined, flags });
  await runningCity(context, runner, CITY, FILES);
  const path = (rest: string): string => `/v0/city/${CITY}/${rest}`;
  const ask = async (method: string, rest: string, body?: unknown, at = runner): Promise<Record<string, any>> => {
    const answer = await call(at, method, path(rest), body);
    if (!answer.ok) throw new Error(`${method} ${rest}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as Record<string, any>;
  };

  const began = performance.now();
  const ids: string[] = [];
  for (let n = 0; n < sessions; n++) ids.push((await ask('POST', 'sessions', { kind: 'provider', name: 'loopback' })).session_id as string);
  const limit = performance.now() + 300_000;
  for (let up = 0; up < sessions; await sleep(500)) {
    up = (await ask('GET', 'sessions?running=true&limit=1')).total as number;
    if (performance.now() > limit) throw new Error(`only ${up} sessions run`);
  }
  say(`${sessions} sessions run after ${((performance.now() - began) / 1000).toFixed(0)} s`);

  const client = await Child.program('clients/followers.ts', { core: CLIENT_CORE, tempDir: context.tempDir });
  context.onStop(() => client.stop());
  await client.call('follow', { port: streams.port, city: CITY, sessions: ids, subscribers });
  say(`${sessions * subscribers} subscribers follow`);

  const chunks = Math.round((seconds * 1000) / every);
  const text = Array.from({ length: chunks }, (_, i) => `${i + 1} `).join('');
  for (const id of ids) await ask('POST', `session/${id}/messages`, { message: `stream ${chunks} ${every}` });
  await sleep(Math.min(20_000, seconds * 250));
  const cpu = { runner: treeSeconds(runner.pid), streams: treeSeconds(streams.pid) };
  const before = { at: performance.now(), runner: await held(runner), streams: await held(streams) };
  await sleep(Math.max(0, seconds * 1000 - 40_000));
  const after = { at: performance.now(), runner: await held(runner), streams: await held(streams) };
  const cores = (now: number, then: number): string => ((now - then) / ((after.at - before.at) / 1000)).toFixed(2);
  const used = { runner: cores(treeSeconds(runner.pid), cpu.runner), streams: cores(treeSeconds(streams.pid), cpu.streams) };

  type Compared = { same: number; other: number; example?: string; frames: number; ended: number };
  let compared!: Compared;
  await until(async () => {
    compared = await client.call<Compared>('compare', { text });
    return compared.other === 0;
  }, 90_000).catch(() => undefined);
  let wrong = 0;
  for (const id of ids) {
    const { turns } = await ask('GET', `session/${id}/transcript?limit=2000`, undefined, streams);
    const said = (turns as { role: string; text: string }[]).filter(({ role }) => role === 'assistant').map((turn) => turn.text);
    if (said.join('') !== text) wrong++;
  }
  console.log(`${machineLine()}; ${sessions} sessions, a chunk each ${every} ms for ${seconds} s, ${subscribers} subscribers each

subscribers with every word   ${count(compared.same)} of ${count(sessions * subscribers)}${compared.example === undefined ? '' : ` (${compared.example})`}
transcripts with every word   ${count(sessions - wrong)} of ${count(sessions)}
frames                        ${count(compared.frames)}; streams that ended: ${compared.ended}
runner, at the beginning      ${shown(before.runner)}
runner, at the end            ${shown(after.runner)}; with its agents ${used.runner} cores
streams, at the beginning     ${shown(before.streams)}
streams, at the end           ${shown(after.streams)}; ${used.streams} cores`);
  return compared.other === 0 && wrong === 0;
}

let complete = false;
await withTempDir(async (tempDir) => {
  const postgres = await BenchPostgres.start();
  const context = new Context(1, seconds, tempDir, postgres, say);
  try {
    complete = await crowd(context);
  } finally {
    await context.stopAll();
    await postgres.stop();
  }
});
process.exit(complete ? 0 : 1);
