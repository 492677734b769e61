import { sql } from 'kysely';
import { cloneDatabase } from '../../../../../test/support/database.js';
import { eventually } from '../../../../../test/support/sse.js';
import { registerCity } from '../../../../../test/support/registry.js';
import { createDb, createPool, type Db } from '../../../../platform/database/database.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import type { SessionRow } from '../../../sessions/session-store/session-row.js';
import type { SessionState } from '../../../sessions/session-store/session-states.js';
import { FakeHost } from './fake-runtime.js';
import { RunnerProcess, type RunnerProcessOptions } from './runner-process.js';

/** A database with one running city, a host, and any number of runners on both. */
export class RunnerFixture {
  readonly runners: RunnerProcess[] = [];
  readonly host = new FakeHost();

  private constructor(
    readonly db: Db,
    readonly url: string,
    readonly city: CityScope,
    private readonly drop: () => Promise<void>,
  ) {}

  static async open(): Promise<RunnerFixture> {
    const database = await cloneDatabase();
    const db = createDb(createPool(database.url, { max: 4 }));
    const city = await registerCity(db, 'alpha', '/alpha');
    await sql`insert into rigs (stream_id, name, prefix, position) values (${city.streamId}, '', 'al', 0)`.execute(db);
    return new RunnerFixture(db, database.url, city, () => database.drop());
  }

  async runner(id: string, more: Partial<RunnerProcessOptions> = {}): Promise<RunnerProcess> {
    const runner = await RunnerProcess.start(this.url, { id, host: this.host, giveUp: (runnerId) => this.giveUp(runnerId), ...more });
    this.runners.push(runner);
    if (more.capacity !== 0) await eventually(() => runner.runner.runnerId !== undefined);
    return runner;
  }

  /** As if the process had not been given any time until its lease was over by the database's clock. */
  async expire(runnerId: string): Promise<void> {
    await sql`update runners set lease_until = now() - interval '1 s' where id = ${runnerId}`.execute(this.db);
  }

  async giveUp(runnerId: string): Promise<void> {
    await sql`update runners set state = 'lost', ended_at = now() where id = ${runnerId}`.execute(this.db);
  }

  async row(pk: number): Promise<SessionRow> {
    return (await sql<SessionRow>`select * from sessions where pk = ${pk}`.execute(this.db)).rows[0]!;
  }

  /** Waits until the session is in one of the states and, unless it is live, nobody has it. */
  async until(pk: number, ...states: SessionState[]): Promise<SessionRow> {
    await this.when(pk, (row) => states.includes(row.state) && (row.state === 'creating' || row.live === (row.runner_id !== null)));
    return this.row(pk);
  }

  async when(pk: number, fits: (row: SessionRow) => boolean): Promise<SessionRow> {
    let last: SessionRow | undefined;
    await eventually(async () => fits((last = await this.row(pk)))).catch(() => {
      throw new Error(`the session is ${JSON.stringify(last)}`);
    });
    return last!;
  }

  /** As if the pause before the next start of a session were over. */
  async unpause(pk: number): Promise<void> {
    await this.when(pk, ({ not_before }) => not_before !== null);
    await sql`update sessions set not_before = null where pk = ${pk}`.execute(this.db);
  }

  async message(pk: number): Promise<{ status: string; generation: number | null; error_code: string | null }> {
    const { rows } = await sql<{ status: string; generation: number | null; error_code: string | null }>`
      select status, generation, error_code from session_messages where pk = ${pk}`.execute(this.db);
    return rows[0]!;
  }

  async untilMessage(pk: number, status: string): Promise<void> {
    let last: unknown;
    await eventually(async () => ((last = (await this.message(pk)).status), last === status)).catch(() => {
      throw new Error(`the message is ${String(last)}, not ${status}`);
    });
  }

  /** Texts of a session's entries, in their order, as `role: text`. */
  async transcript(pk: number): Promise<string[]> {
    const { rows } = await sql<{ role: string; kind: string; text: string | null }>`
      select role, kind, coalesce(blocks -> 0 ->> 'text', blocks -> 0 ->> 'thinking') as text from session_entries
      where session_pk = ${pk} order by seq`.execute(this.db);
    return rows.map(({ role, kind, text }) => `${kind === 'compaction' ? kind : role}: ${text}`);
  }

  async activity(pk: number): Promise<string> {
    return (await sql<{ activity: string }>`select activity from session_logs where session_pk = ${pk}`.execute(this.db)).rows[0]!.activity;
  }

  async events(type?: string): Promise<{ type: string; subject: string | null; message: string | null; payload: Record<string, any> }[]> {
    const { rows } = await sql<{ type: string; subject: string | null; message: string | null; payload: Record<string, any> }>`
      select type, subject, message, payload from events where stream_id = ${this.city.streamId}
        and (${type ?? null}::text is null or type = ${type ?? null}) order by seq`.execute(this.db);
    return rows;
  }

  /** The turns that events tell of, in their order: what has happened to which, why, and what the session is doing then. */
  async turns(pk: number): Promise<string[]> {
    const { id } = await this.row(pk);
    return (await this.events())
      .filter(({ type, subject }) => type.startsWith('session.turn.') && subject === id)
      .map(({ type, payload: { turn, stop_reason: why, session } }) =>
        [type.slice('session.turn.'.length), turn, why, session.running ? session.activity : session.state]
          .filter((one) => one !== undefined)
          .join(' '),
      );
  }

  /** Ends everything, runners that were killed, too, and leaves nothing behind. */
  async close(): Promise<void> {
    this.host.immortal = false;
    await Promise.all(this.runners.map((runner) => runner.end().catch(() => undefined)));
    await this.db.destroy();
    await this.drop();
  }
}
