import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import type { OKWithIDResponseBody } from '../../../contract/sessions.schemas.js';
import type { IdempotencyRef } from '../../../platform/idempotency/idempotency.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { idempotencyRef } from '../../tenancy/cities/idempotency-ref.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { knownTemplate } from '../launch/template.js';
import { agentSettings } from '../session-store/settings.js';
import { SessionChangesService } from '../session-store/session-changes.service.js';
import { SessionCommands } from './session-commands.service.js';
import { isOver, SessionRequests, type AskedProcess } from './session-requests.service.js';
import { byName, byNameOrEnded, requireItsName } from '../session-names/by-name.js';
import { SessionResolver } from '../session-names/session-resolver.service.js';
import type { SessionRow } from '../session-store/session-row.js';
import { DRAINED_ITSELF, stopWish } from '../session-store/session-stops.js';
import { SessionTimings } from './session-timings.js';

const DRAIN_MS = 5 * 60_000;

/** Stops turns and processes; the sessions stay. */
@Injectable()
export class SessionStopping {
  constructor(
    private readonly resolver: SessionResolver,
    private readonly changes: SessionChangesService,
    private readonly requests: SessionRequests,
    private readonly commands: SessionCommands,
    private readonly config: ConfigReadsService,
    private readonly timings: SessionTimings,
  ) {}

  /**
   * Parks a session until it is woken or sent a message; one that is parked already stays so.
   *
   * @throws ProblemError session_not_found, ambiguous; illegal_transition while it starts or drains and after its end.
   */
  async suspend(city: CityScope, text: string, caller: Principal, gone: AbortSignal): Promise<void> {
    const row = await byName(() => this.#suspend(city, text, caller));
    await this.requests.confirmed(city, row, gone, isOver(row));
  }

  async #suspend(city: CityScope, text: string, { actor }: Principal): Promise<SessionRow> {
    const found = await this.resolver.resolve(city, text, { closed: false, materialize: { suspended: true }, actor });
    return this.changes.run(city, actor, async (changes) => {
      const before = await changes.require(found.pk, text);
      requireItsName(before, text);
      if (before.stop_request === 'close') throw problem('wrong_state', `session ${before.id} is being closed`);
      const wish = before.runner_id === null ? undefined : stopWish(before, 'suspend', { reason: 'user-hold' });
      if (before.state === 'suspended') return wish === undefined ? before : changes.patch(before, wish);
      const set = { ...wish, wake_request: null, wake_requested_at: null };
      return changes.move(before, 'suspend', { reason: 'user-hold', set });
    });
  }

  /**
   * Ends the current turn and waits for its end; the process stays. Without a turn it does nothing.
   *
   * @throws ProblemError session_not_found, ambiguous; wrong_state when it is closed; unavailable when the turn goes on.
   */
  async stop(city: CityScope, text: string, caller: Principal, gone: AbortSignal): Promise<OKWithIDResponseBody> {
    const { pk, id, asked } = await byName(() => this.#interrupt(city, text, caller));
    if (asked !== undefined) {
      const outcome = await this.commands.outcome(pk, asked, { ms: this.timings.interruptMs, gone });
      const going = typeof outcome === 'object' ? outcome.failed : outcome === 'unanswered' ? 'the turn has not ended yet' : undefined;
      if (going !== undefined) throw problem('unavailable', `session ${id}: ${going}; it was asked to stop and may still do so`);
    }
    return { status: 'ok', id };
  }

  async #interrupt(city: CityScope, text: string, { actor }: Principal): Promise<{ pk: number; id: string; asked: number | undefined }> {
    const { pk, id } = await this.resolver.resolve(city, text, { closed: false, materialize: false });
    const asked = await this.changes.run(city, actor, async (changes) => {
      const row = await changes.require(pk, text);
      requireItsName(row, text);
      if (row.state === 'closed') throw problem('wrong_state', `session ${row.id} is closed`);
      return row.live ? this.commands.interrupt(changes, row) : undefined;
    });
    return { pk, id, asked };
  }

  /**
   * Ends the process at once, under a key only that one. Whether there will be another one is not decided here. Without a process it does nothing.
   *
   * @throws ProblemError session_not_found, ambiguous; wrong_state when its name has changed hands too often meanwhile; unavailable, see
   * `SessionRequests.confirmed`.
   */
  async kill(city: CityScope, text: string, key: string | undefined, caller: Principal, gone: AbortSignal): Promise<OKWithIDResponseBody> {
    const ref = idempotencyRef(caller, city.name, 'kill-session', key, { id: text });
    const asked = (await this.requests.askedBefore(ref)) ?? (await this.#kill(city, text, ref, caller));
    return this.requests.over(city, asked, gone);
  }

  #kill(city: CityScope, text: string, ref: IdempotencyRef | undefined, { actor }: Principal): Promise<AskedProcess> {
    const resolve = (): Promise<SessionRow> => this.resolver.resolve(city, text, { closed: false, materialize: false });
    return byNameOrEnded(text, resolve, ({ pk }, locked) =>
      this.changes.run(city, actor, (changes) =>
        this.requests.askOnce(changes, ref, async () => {
          const before = await changes.require(pk, text);
          locked(before);
          const wish = before.runner_id === null ? undefined : stopWish(before, 'kill', { reason: 'killed' });
          return { row: wish === undefined ? before : await changes.patch(before, wish), awaited: before.runner_id !== null };
        }),
      ),
    );
  }

  /**
   * Lets the session finish its turn and sleep then; past its time it is stopped. Nobody waits for that here.
   *
   * @throws ProblemError session_not_found, ambiguous; illegal_transition while it starts and after its end.
   */
  drain(city: CityScope, text: string, caller: Principal): Promise<OKWithIDResponseBody> {
    return byName(() => this.#drain(city, text, caller));
  }

  async #drain(city: CityScope, text: string, { actor, session }: Principal): Promise<OKWithIDResponseBody> {
    const found = await this.resolver.resolve(city, text, { closed: false, materialize: false });
    const ms = await this.#drainMs(city, found);
    await this.changes.run(city, actor, async (changes) => {
      const row = await changes.require(found.pk, text);
      requireItsName(row, text);
      if (row.runner_id === null && row.state !== 'start-pending' && row.state !== 'closed') return;
      const now = await changes.now();
      const wish = stopWish(row, 'drain', { reason: 'drained', deadline: new Date(now.getTime() + ms), now });
      // What is asked of it already ends it sooner.
      if (wish === undefined) return;
      const { [DRAINED_ITSELF]: _, ...metadata } = row.metadata;
      const set = { ...wish, metadata: session?.id === row.id ? { ...metadata, [DRAINED_ITSELF]: now.toISOString() } : metadata };
      await changes.move(row, 'drain', { reason: 'drained', set });
    });
    return { status: 'ok', id: found.id };
  }

  async #drainMs(city: CityScope, row: SessionRow): Promise<number> {
    const config = (await this.config.known(city))?.config;
    const agent = config && knownTemplate(config, row)?.agent;
    return agent === undefined ? DRAIN_MS : agentSettings(config!, agent).drainMs;
  }
}
