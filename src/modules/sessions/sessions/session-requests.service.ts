import { Injectable } from '@nestjs/common';
import { problem } from '../../../contract/problems.js';
import type { OKWithIDResponseBody } from '../../../contract/sessions.schemas.js';
import { Db } from '../../../platform/database/database.js';
import { Idempotency, type IdempotencyRef } from '../../../platform/idempotency/idempotency.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { EffectiveSuspension } from '../launch/effective-suspension.service.js';
import { knownTemplate, otherAgent } from '../launch/template.js';
import { ProvidersService } from '../../hosts/providers/providers.service.js';
import type { SessionChanges } from '../session-store/session-changes.js';
import { isForNext } from '../session-names/for-next.js';
import { SessionChangesService } from '../session-store/session-changes.service.js';
import type { SessionRow } from '../session-store/session-row.js';
import { SessionTimings } from './session-timings.js';
import { SessionWatch } from './session-watch.service.js';

/** The process that a request has asked to end, as it is kept under the key of the request. */
export interface AskedProcess {
  readonly pk: number;
  readonly id: string;
  readonly generation: number;
  /** Its end is waited for. */
  readonly awaited: boolean;
}

/** What requests that start and stop sessions share: what keeps one from starting, and waiting for its runner. */
@Injectable()
export class SessionRequests {
  constructor(
    private readonly db: Db,
    private readonly config: ConfigReadsService,
    private readonly suspension: EffectiveSuspension,
    private readonly providers: ProvidersService,
    private readonly changes: SessionChangesService,
    private readonly watch: SessionWatch,
    private readonly timings: SessionTimings,
    private readonly idempotency: Idempotency,
  ) {}

  /** Why a session could not be started now, or the next one of its name that takes its place, in words; undefined when it could. */
  async blocker(
    city: CityScope,
    row: Pick<SessionRow, 'kind' | 'template' | 'agent' | 'rig' | 'named_identity'>,
  ): Promise<string | undefined> {
    const config: CityConfig | undefined = (await this.config.known(city))?.config;
    const suspended = await this.suspension.blockerOf(city, row, config);
    if (suspended !== undefined || config === undefined) return suspended;
    const name = otherAgent(config, row)?.qualified_name ?? row.template;
    const template = knownTemplate(config, { kind: row.kind, template: name });
    if (template === undefined) return `${row.kind} ${name} cannot be started as the city is configured now`;
    const { preset } = template;
    const status = preset === undefined ? undefined : (await this.providers.unready([preset])).get(preset);
    return status === undefined ? undefined : `provider ${template.provider} is not ready: ${status}`;
  }

  /** @throws ProblemError wrong_state naming what blocks it */
  async requireStartable(city: CityScope, row: SessionRow): Promise<void> {
    const blocker = await this.blocker(city, row);
    if (blocker !== undefined) throw problem('wrong_state', `session ${row.id} cannot be started: ${blocker}`);
  }

  /** See `isForNext`. */
  isForNext(changes: SessionChanges, row: Pick<SessionRow, 'named_identity' | 'agent'>): Promise<boolean> {
    return isForNext(this.config, changes, row);
  }

  /** What was asked under the key before; undefined when nothing was. @throws ProblemError idempotency_mismatch */
  async askedBefore(ref: IdempotencyRef | undefined): Promise<AskedProcess | undefined> {
    const stored = ref && (await this.idempotency.lookup(this.db, ref));
    return stored?.body as AskedProcess | undefined;
  }

  /** Asks for the end of a process, under a key at most once: what comes after that process is left alone by who repeats it. */
  async askOnce(
    changes: SessionChanges,
    ref: IdempotencyRef | undefined,
    ask: () => Promise<{ readonly row: SessionRow; readonly awaited: boolean }>,
  ): Promise<AskedProcess> {
    const { body } = await this.idempotency.run<AskedProcess>(changes.tx, ref, async () => {
      const { row, awaited } = await ask();
      return { status: 200, body: { pk: row.pk, id: row.id, generation: row.generation, awaited } };
    });
    return body;
  }

  /** Waits for the end of a process that was asked for. @throws ProblemError unavailable, as `confirmed` */
  async over(city: CityScope, asked: AskedProcess, gone: AbortSignal): Promise<OKWithIDResponseBody> {
    const now = asked.awaited ? await this.changes.find(this.db, city.streamId, asked.pk) : undefined;
    if (now !== undefined) await this.confirmed(city, now, gone, isOver(asked));
    return { status: 'ok', id: asked.id };
  }

  /**
   * Waits until the runner has done what its session's row asks for. Undefined when the session was deleted meanwhile.
   *
   * @throws ProblemError unavailable when it has not yet: it goes on all the same.
   */
  async confirmed(
    city: CityScope,
    row: SessionRow,
    gone: AbortSignal | undefined,
    done: (now: SessionRow) => boolean,
  ): Promise<SessionRow | undefined> {
    if (done(row)) return row;
    const found = await this.watch.until(row.pk, { ms: this.timings.confirmMs, gone }, async () => {
      const now = await this.changes.find(this.db, city.streamId, row.pk);
      return now === undefined ? 'deleted' : done(now) ? now : undefined;
    });
    if (found === undefined)
      throw problem('unavailable', `the process of session ${row.id} has not ended yet; what was asked for stands, and goes on`);
    return found === 'deleted' ? undefined : found;
  }
}

/** The process that a row was about is there no more, whatever came after it. */
export function isOver(asked: Pick<SessionRow, 'generation'>): (now: SessionRow) => boolean {
  return (now) => now.runner_id === null || now.generation !== asked.generation || now.state === 'closed';
}
