import { sql } from 'kysely';
import { Signals } from '../../src/platform/streams/signals.js';
import { HintListener } from '../../src/platform/streams/listener.js';
import { Lifecycle } from '../../src/platform/health/lifecycle.js';
import { AppLogger, createLogger } from '../../src/platform/logging/logger.js';
import { MovedStreams } from '../../src/platform/event-log/moved.js';
import type { Db, PgPool } from '../../src/platform/database/database.js';
import type { EntryWrite, LogWrite } from '../../src/modules/sessions/transcripts/entries.js';
import type { SessionChangesService } from '../../src/modules/sessions/session-store/session-changes.service.js';
import { TranscriptLogRepository } from '../../src/modules/sessions/transcripts/transcript-log.repository.js';
import { TranscriptLogService } from '../../src/modules/sessions/transcripts/transcript-log.service.js';

export interface TestSession {
  readonly pk: number;
  readonly id: string;
  readonly generation: number;
  readonly epoch: number;
}

let made = 0;

/** A session in a city, held by a runner and live in its first generation, without going through the product. */
export async function insertSession(
  db: Db,
  streamId: number,
  over: { id?: string; agent?: string; live?: boolean } = {},
): Promise<TestSession> {
  const n = ++made;
  const id = over.id ?? `al-s${n}`;
  const live = over.live ?? true;
  await sql`insert into runners (id, process_id, host, capacity, state, lease_until)
    values ('runner-test', 'p', 'h', 100, 'active', now() + interval '1 day') on conflict do nothing`.execute(db);
  const { rows } = await sql<{ pk: number }>`
    insert into sessions (stream_id, id, session_name, title, kind, template, agent, agent_name, provider, origin, created_by, state,
      generation, runner_id, live)
    values (${streamId}, ${id}, ${`s-${id}`}, 'test', ${over.agent === undefined ? 'provider' : 'agent'}, ${over.agent ?? 'loopback'},
      ${over.agent ?? null}, ${over.agent ?? null}, 'loopback', 'manual', 'test', ${live ? 'active' : 'asleep'}, 1,
      ${live ? 'runner-test' : null}, ${live}) returning pk`.execute(db);
  const pk = rows[0]!.pk;
  await sql`insert into session_logs (session_pk, generation) values (${pk}, 1)`.execute(db);
  return { pk, id, generation: 1, epoch: 1 };
}

/** For logs whose sessions nobody ends. */
export const NO_ENDS = { onEnded: () => undefined } as unknown as SessionChangesService;

/** The writing side of one process, whose signals reach only itself. */
export function logOf(pool: PgPool, moved = new MovedStreams()): TranscriptLogService {
  return new TranscriptLogService(new TranscriptLogRepository(pool), signalsOf(moved), NO_ENDS);
}

function signalsOf(moved: MovedStreams): Signals {
  const silent = { listen: () => undefined } as unknown as HintListener;
  const signals = new Signals(moved, silent, new Lifecycle(new AppLogger(createLogger('silent'))));
  signals.onModuleInit();
  return signals;
}

export function write(session: TestSession, entries: readonly EntryWrite[], more: Partial<LogWrite> = {}): LogWrite {
  return { sessionPk: session.pk, generation: session.generation, epoch: session.epoch, entries, ...more };
}

export function said(entryId: string, text: string, over: Partial<EntryWrite> = {}): EntryWrite {
  return { entryId, kind: 'message', role: 'assistant', status: 'final', blocks: [{ type: 'text', text }], turn: 1, ...over };
}
