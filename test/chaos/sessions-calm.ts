import type { Random } from './random.js';
import type { ChaosPostgres } from './servers.js';
import type { SessionsClients } from './sessions-clients.js';
import { sleep } from './sleep.js';
import type { Violation } from './violations.js';
import { left } from './waiting.js';

/** A lost runner is noticed after its lease (10 s); what is started then may have a turn or two before it. */
const CALM_MS = 60_000;
const LEFT = `
  select o.id, o.kind, o.target, s.id as session, s.state, s.live, s.reason, s.wake_request, s.stop_request, s.runner_id, s.not_before
  from operations o left join session_messages m on m.request_id = o.id left join sessions s on s.pk = m.session_pk
  where o.kind like 'session.%' and o.finished_at is null`;
const QUEUED = `
  select s.id, m.id as message, m.status, s.state, s.live, s.reason, s.wake_request, s.stop_request, s.runner_id, s.not_before
  from session_messages m join sessions s on s.pk = m.session_pk where m.status in ('queued', 'in_flight')`;
const BODY = 'select status from session_messages where body = $1';

/** After all harm: questions are answered, sessions are woken, and whatever was accepted has to end. */
export class Calm {
  #calm = false;
  #helping: Promise<void> | undefined;

  constructor(
    private readonly postgres: ChaosPostgres,
    private readonly database: string,
    private readonly clients: SessionsClients,
    private readonly random: Random,
  ) {}

  async run(): Promise<Violation[]> {
    this.#helping = this.#help();
    try {
      const open = await this.#left(LEFT);
      const queued = await this.#left(QUEUED);
      const violations: Violation[] = [];
      if (open.length > 0)
        violations.push({
          property: 'one terminal event',
          message: `${open.length} operations on sessions did not end within ${CALM_MS} ms of healing`,
          entries: open,
        });
      if (queued.length > 0)
        violations.push({ property: 'message settled', message: `${queued.length} messages still wait after healing`, entries: queued });
      return [...violations, ...(await this.#commands())];
    } finally {
      this.#calm = true;
      await this.#helping;
    }
  }

  async #help(): Promise<void> {
    for (let turn = 0; !this.#calm; turn++) {
      await this.clients.answer(this.random);
      if (turn % 4 === 0)
        for (const { id, state, running } of await this.clients.open(this.random))
          if (!running && state !== 'closed') await this.clients.verb('wake', id, this.random);
      await sleep(400);
    }
  }

  #left(sql: string): Promise<unknown[]> {
    return left<unknown>(CALM_MS, () => this.postgres.query(sql, [], this.database));
  }

  /** Every session that is open takes a message, then every other one a close. */
  async #commands(): Promise<Violation[]> {
    const violations: Violation[] = [];
    const refused = (message: string, ...entries: unknown[]): void =>
      void violations.push({ property: 'accepts commands', message, entries });
    const open = await this.clients.open(this.random);
    await Promise.all(
      open.map(async ({ id, state }, n) => {
        if (!(await this.#delivered(id))) refused(`${id} (${state}) does not take a message ${CALM_MS} ms after healing`);
        if (n % 2 === 1) return;
        for (let i = 0; i < 3; i++) {
          const closed = await this.clients.verb('close', id, this.random);
          if (closed.outcome === 'acknowledged') return;
          if (i === 2) refused(`${id} is not closed`, closed);
        }
      }),
    );
    return violations;
  }

  async #delivered(session: string): Promise<boolean> {
    const limit = performance.now() + CALM_MS;
    while (performance.now() < limit) {
      const { outcome, text } = await this.clients.probe(session, this.random);
      while (outcome === 'acknowledged' && performance.now() < limit) {
        const [row] = await this.postgres.query<{ status: string }>(BODY, [text], this.database);
        if (row?.status === 'delivered') return true;
        if (row?.status !== 'queued' && row?.status !== 'in_flight') break;
        await sleep(200);
      }
      await sleep(400);
    }
    return false;
  }
}
