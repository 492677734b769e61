import { join } from 'node:path';
import type { Recorded } from '../clients/recorder.js';
import type { Talked, Talking } from '../floors/agent.js';
import { Child, ROOT } from '../lib/child.js';
import type { Bar, Context } from '../lib/context.js';
import { cityName } from '../lib/database.js';
import { fillTranscript, liveSession } from '../lib/live-sessions.js';
import { count, ms, type Line } from '../lib/report.js';
import { load, type Load } from '../lib/requests.js';
import { runningCity } from '../lib/running-city.js';
import { median, pairedRatio } from '../lib/stats.js';

const STAMPING = [process.execPath, join(ROOT, 'bench/agents/stamping.mjs')];
const LOOPBACK = [process.execPath, join(ROOT, 'dist/src/loopback/main.js')];

const FILES = [
  [
    'city.toml',
    `[workspace]
provider = "loopback"

[providers.loopback]
base = "builtin:loopback"

[providers.stamping]
command = ${JSON.stringify(STAMPING[0])}
args = [${JSON.stringify(STAMPING[1])}]
supports_acp = true
prompt_mode = "none"
`,
  ],
] as const;

/** Two replicas, one of which runs agents; somebody who asks that one and follows the other; and the floor beside them. */
export async function live(context: Context, city: string): Promise<{ client: Child; floor: Child }> {
  const url = await context.postgres.database(1);
  const core = undefined; // agents run beside what starts them
  // Their programs are in this checkout, which walls may hide.
  const env = { SVC_RUNNER_ISOLATION: 'none' };
  const [runner, streams] = [await context.service(url, { role: 'all', core, env }), await context.service(url)];
  await runningCity(context, runner, city, FILES);
  const client = await context.client('sessions');
  await client.call('open', { city, port: runner.port, streams: streams.port });
  const floor = await Child.program('floors/agent.ts', { core, tempDir: context.tempDir });
  context.onStop(() => floor.stop());
  await floor.call('start', { url, command: STAMPING });
  return { client, floor };
}

/** Ours may take so many milliseconds more than the floor. */
function within(bar: string, what: string, ours: readonly number[], floor: readonly number[], limit?: number): Line {
  const line = { bar, what, ours: ms(median(ours)), floor: ms(median(floor)) };
  if (limit === undefined) return { ...line, reach: '' };
  return { ...line, reach: `≤ floor + ${limit} ms`, met: median(ours) - median(floor) <= limit };
}

export const liveChunks: Bar = {
  ids: ['S1', 'S2'],
  title: 'what an agent writes until its frame at a subscriber of another replica, against a pipe, one INSERT, NOTIFY and SELECT',
  async run(context) {
    const { client, floor } = await live(context, 'talk');
    const { session } = await client.call<{ session: string }>('create', { kind: 'provider', name: 'stamping' });
    await client.call('follow', { session });
    const both = (talking: Talking): Record<'ours' | 'floor', () => Promise<Talked>> => ({
      ours: () => client.call('talk', talking),
      floor: () => floor.call('talk', talking),
    });
    const slow = both({ chunks: Math.round(context.seconds * 10), everyMs: 100 });
    const fast = both({ chunks: Math.round(context.seconds * 50), everyMs: 20 });
    await context.turns(slow, 1); // warm
    const slowly = await context.turns(slow);
    const quickly = await context.turns(fast);
    const of = (runs: readonly Talked[], what: keyof Talked): number[] => runs.map((run) => run[what]);
    return [
      within('S1', '10 chunks/s: written to frame elsewhere, p50', of(slowly.ours, 'p50'), of(slowly.floor, 'p50'), 10),
      within('S1', '50 chunks/s: written to frame elsewhere, p50', of(quickly.ours, 'p50'), of(quickly.floor, 'p50'), 50),
      within('S1', '50 chunks/s: written to frame elsewhere, p99', of(quickly.ours, 'p99'), of(quickly.floor, 'p99'), 50),
      within('S2', "message accepted to the agent's first byte", of(slowly.ours, 'accepted'), of(slowly.floor, 'accepted'), 30),
      within('S2', "message sent to the agent's first byte", of(slowly.ours, 'sent'), of(slowly.floor, 'sent')),
    ];
  },
};

export const coldStart: Bar = {
  ids: ['S4'],
  title: 'a session of the shipped agent, from the request to the event that it runs, against its process and initialize alone',
  async run(context) {
    const { client, floor } = await live(context, 'start');
    const parts = {
      ours: async () => {
        const made = await client.call<{ ms: number; session: string }>('create', { kind: 'provider', name: 'loopback' });
        await client.call('close', made);
        return made.ms;
      },
      floor: () => floor.call<number>('cold', { command: LOOPBACK }),
    };
    await context.turns(parts, 20); // warm: the first 20 of a process take the longest
    const runs = await context.turns(parts, context.rounds * 3);
    return [within('S4', 'cold start of a loopback session', runs.ours, runs.floor, 50)];
  },
};

export const recording: Bar = {
  ids: ['S3'],
  title: 'entries that one runner records, against INSERTs of as many rows',
  async run(context) {
    const url = await context.postgres.database(1);
    const client = await context.client('recorder');
    await client.call('start', { url, count: 32 });
    const lines: Line[] = [];
    for (const sessions of [1, 32]) {
      const ours = (): Promise<Recorded> => client.call('record', { seconds: context.seconds, count: sessions });
      await context.warm({ ours });
      const { batch } = await ours();
      const floor = (): Promise<Recorded> => client.call('insert', { seconds: context.seconds, batch, writers: Math.min(2, sessions) });
      const runs = await context.turns({ ours, floor });
      const rates = (all: readonly Recorded[]): number[] => all.map((run) => run.perSecond);
      const ratio = pairedRatio(rates(runs.ours), rates(runs.floor));
      lines.push({
        bar: 'S3',
        what: `entries of ${sessions} session${sessions === 1 ? '' : 's'}, ${count(batch)} a commit`,
        ours: `${count(median(rates(runs.ours)))}/s`,
        floor: `${count(median(rates(runs.floor)))}/s`,
        ratio,
        reach: '≥ 0.7',
        met: ratio >= 0.7,
      });
    }
    return lines;
  },
};

export const transcripts: Bar = {
  ids: ['S5'],
  title: 'the end of a transcript of 100,000 entries against all of one of 100',
  async run(context) {
    const url = await context.postgres.database(1);
    const [long, short] = [await liveSession(url, 'long'), await liveSession(url, 'short')];
    await fillTranscript(url, long, 100_000);
    await fillTranscript(url, short, 100);
    const { port } = await context.service(url);
    const client = await context.client('http');
    const page = (id: string) => (): Promise<Load> =>
      load(client, context.tempDir, {
        port,
        paths: [`/v0/city/${cityName(1)}/session/${id}/transcript?format=structured&limit=100`],
        connections: 1,
        seconds: context.seconds,
      });
    const parts = { long: page('long'), short: page('short') };
    await context.warm(parts);
    const runs = await context.turns(parts);
    const p50 = (all: readonly Load[]): number[] => all.map((run) => run.p50);
    const ratio = pairedRatio(p50(runs.long), p50(runs.short));
    const refused = [...runs.long, ...runs.short].some((run) => run.refused > 0);
    return [
      {
        bar: 'S5',
        what: `newest 100 of 100,000 entries against 100 of 100${refused ? ' (not all answers were 2xx)' : ''}`,
        ours: ms(median(p50(runs.long))),
        floor: ms(median(p50(runs.short))),
        ratio,
        reach: '≤ 1.3',
        met: !refused && ratio <= 1.3,
      },
    ];
  },
};
