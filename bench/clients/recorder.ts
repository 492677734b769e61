import pg from 'pg';
import { Recorder } from '../../src/modules/runners/runners/recorder.js';
import { RunnerTimings } from '../../src/modules/runners/runners/runner-timings.js';
import { TranscriptLogRepository } from '../../src/modules/sessions/transcripts/transcript-log.repository.js';
import { TranscriptLogService } from '../../src/modules/sessions/transcripts/transcript-log.service.js';
import type { SessionChangesService } from '../../src/modules/sessions/session-store/session-changes.service.js';
import { createPool, type PgPool } from '../../src/platform/database/database.js';
import { MovedStreams } from '../../src/platform/event-log/moved.js';
import { Lifecycle } from '../../src/platform/health/lifecycle.js';
import { AppLogger, createLogger } from '../../src/platform/logging/logger.js';
import type { HintListener } from '../../src/platform/streams/listener.js';
import { Signals } from '../../src/platform/streams/signals.js';
import { liveSession } from '../lib/live-sessions.js';
import { serve } from '../lib/rpc.js';

/** What a runner writes transcripts with, without agents: each session says entries as fast as they are taken. */

export interface Recorded {
  readonly perSecond: number;
  /** Entries a commit, on average. */
  readonly batch: number;
}

/** A tool call's output of ordinary length. */
const TEXT = 'All 214 tests passed in 12 s; nothing was left to do but to write the report. '.repeat(4);
let pool: PgPool;
let log: TranscriptLogService;
let commits = 0;
const sessions: number[] = [];

async function start({ url, count }: { url: string; count: number }): Promise<void> {
  pool = createPool(url);
  const lifecycle = new Lifecycle(new AppLogger(createLogger('silent')));
  const signals = new Signals(new MovedStreams(), { listen: () => () => undefined } as unknown as HintListener, lifecycle);
  signals.onModuleInit();
  log = new TranscriptLogService(new TranscriptLogRepository(pool), signals, {
    onEnded: () => undefined,
  } as unknown as SessionChangesService);
  const append = log.appendMany.bind(log);
  log.appendMany = (writes) => {
    commits++;
    return append(writes);
  };
  for (let n = 1; n <= count; n++) sessions.push(await liveSession(url, `rec-${n}`));
}

async function record({ seconds, count }: { seconds: number; count: number }): Promise<Recorded> {
  const until = performance.now() + seconds * 1_000;
  const before = commits;
  const started = performance.now();
  const said = await Promise.all(sessions.slice(0, count).map((pk) => speak(pk, until)));
  const entries = said.reduce((sum, n) => sum + n, 0);
  return { perSecond: entries / ((performance.now() - started) / 1_000), batch: entries / (commits - before) };
}

let spoken = 0;

async function speak(sessionPk: number, until: number): Promise<number> {
  const failed = (cause?: unknown): never => {
    throw new Error('what was said could not be recorded', { cause });
  };
  const { joinMs } = new RunnerTimings();
  const facts = { sessionPk, generation: 1, epoch: 1, joinMs, held: () => true, fenced: failed, lost: failed };
  const recorder = new Recorder(log, facts);
  const run = ++spoken;
  recorder.turn = 1;
  let n = 0;
  while (performance.now() < until) {
    recorder.entry({
      type: 'entry',
      id: `${run}-${++n}`,
      kind: 'tool',
      role: 'tool',
      status: 'final',
      blocks: [{ type: 'text', text: TEXT }],
    });
    await recorder.room();
  }
  await recorder.flush();
  return n;
}

const INSERT = `
  insert into floor_entry (session_pk, seq, rev, entry_id, epoch, generation, turn, kind, role, status, blocks)
  select e.pk, e.seq, e.seq, e.id, 1, 1, 1, 'tool', 'tool', 'final', e.blocks::jsonb
  from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[]) as e(pk, seq, id, blocks)`;

let inserted = 0;

/** As many commits at once as the service has on their way. */
async function insert({ seconds, batch, writers }: { seconds: number; batch: number; writers: number }): Promise<Recorded> {
  const rows = Math.round(batch);
  const until = performance.now() + seconds * 1_000;
  const blocks = JSON.stringify([{ type: 'text', text: TEXT }]);
  let entries = 0;
  const started = performance.now();
  const write = async (): Promise<void> => {
    while (performance.now() < until) {
      const seqs = Array.from({ length: rows }, () => ++inserted);
      const values = [seqs.map(() => 1), seqs, seqs.map((n) => `1.e.${n}`), seqs.map(() => blocks)];
      await (pool as pg.Pool).query({ name: 'insert', text: INSERT, values });
      entries += rows;
    }
  };
  await Promise.all(Array.from({ length: writers }, write));
  return { perSecond: entries / ((performance.now() - started) / 1_000), batch: rows };
}

serve({ start, record, insert });
