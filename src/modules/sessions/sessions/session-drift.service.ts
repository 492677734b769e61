import { Injectable } from '@nestjs/common';
import { SessionUpdated } from '../../../contract/events/sessions.events.js';
import type { Principal } from '../../../contract/principal.js';
import { problem, ProblemError } from '../../../contract/problems.js';
import { event } from '../../../platform/event-log/event.js';
import type { Indexed } from '../../../platform/http/indexed.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { differences, driftOf, driftStep, type Started } from '../launch/drift.js';
import { EffectiveSuspension } from '../launch/effective-suspension.service.js';
import { LaunchService } from '../launch/launch.service.js';
import { hasOtherAgent } from '../launch/template.js';
import { poolSettings } from '../session-store/settings.js';
import { formatPlace, parsePlace } from '../../work/work/page-token.js';
import type { SessionChanges } from '../session-store/session-changes.js';
import { SessionChangesService } from '../session-store/session-changes.service.js';
import { SessionDriftRepository, type StartedRow } from './session-drift.repository.js';
import type {
  DriftAcceptedBody,
  DriftQuery,
  ListBodySessionDrift,
  SessionDrift,
  SessionDriftAcceptedBody,
} from './session-drift.schemas.js';
import { SessionResolver } from '../session-names/session-resolver.service.js';
import type { SessionRow } from '../session-store/session-row.js';

const PAGE = 100;

/** One that runs with an older configuration. */
interface Drifted {
  readonly row: StartedRow;
  readonly accepted: boolean;
  /** Its name stands for another agent by now. */
  readonly moved: boolean;
}

/** Sessions that run with an older configuration: what comes of each, and letting them go on. */
@Injectable()
export class SessionDrifts {
  constructor(
    private readonly repository: SessionDriftRepository,
    private readonly resolver: SessionResolver,
    private readonly changes: SessionChangesService,
    private readonly config: ConfigReadsService,
    private readonly suspension: EffectiveSuspension,
    private readonly launch: LaunchService,
  ) {}

  /** Newest first. @throws ProblemError invalid_cursor */
  async list(city: CityScope, { template, limit, cursor }: DriftQuery): Promise<Indexed<ListBodySessionDrift>> {
    const from = placeOf(cursor);
    const { config } = await this.config.current(city);
    const { head, rows } = await this.repository.started(city.streamId, template);
    const fingerprint = remembered((asked) => this.launch.fingerprint(config, asked));
    const drifted = rows.flatMap((row) => {
      const moved = hasOtherAgent(config, row);
      const drift = driftOf(row, fingerprint);
      return drift === undefined && !moved ? [] : [{ row, accepted: drift?.accepted === true, moved }];
    });
    const left = drifted.filter(({ row }) => from === undefined || isAfter(row, from));
    const shown = left.slice(0, limit === 0 ? PAGE : limit);
    const last = left.length > shown.length ? shown.at(-1)?.row : undefined;
    const more = last === undefined ? {} : { next_cursor: formatPlace('drift', { createdAt: last.place, id: String(last.pk) }) };
    const blockers = await this.suspension.blockers(city, config);
    const items = shown.map((one) => this.#told(config, one, blockers(one.row.agent ?? undefined, one.row.rig) !== undefined));
    return { value: { items, total: drifted.length, ...more }, index: head };
  }

  /**
   * Lets a session's process go on with what it was started with, until it ends or the configuration changes again. Once is
   * enough: a second time changes nothing.
   *
   * @throws ProblemError session_not_found, ambiguous; wrong_state when there is no process that stays.
   */
  async accept(city: CityScope, text: string, { actor }: Principal): Promise<SessionDriftAcceptedBody> {
    const found = await this.resolver.resolve(city, text, { closed: false, materialize: false });
    return this.changes.run(city, actor, async (changes) => {
      const row = await changes.require(found.pk, text);
      return this.#accept(changes, await this.#config(city, changes), row);
    });
  }

  /** The same for every session of an agent that has a process. @throws ProblemError agent_not_found */
  async acceptAll(city: CityScope, name: string, { actor }: Principal): Promise<DriftAcceptedBody> {
    return this.changes.run(city, actor, async (changes) => {
      const config = await this.#config(city, changes);
      const agent = this.launch.template(config, 'agent', name).name;
      const accepted: string[] = [];
      const skipped: { id: string; reason: string }[] = [];
      for (const pk of await this.repository.ofAgent(changes.tx, city.streamId, agent)) {
        const row = await changes.lock(pk);
        if (row?.live !== true) continue;
        try {
          if ((await this.#accept(changes, config, row)).accepted) accepted.push(row.id);
        } catch (error) {
          if (!(error instanceof ProblemError)) throw error;
          skipped.push({ id: row.id, reason: error.detail });
        }
      }
      return { agent, accepted, skipped };
    });
  }

  async #accept(changes: SessionChanges, config: CityConfig, row: SessionRow): Promise<SessionDriftAcceptedBody> {
    requireStays(row);
    const drift = driftOf(row, (asked) => this.launch.fingerprint(config, asked));
    if (drift === undefined) return { status: 'ok', id: row.id, accepted: false, differs: [] };
    const differs = this.#differs(config, row, await this.repository.parts(changes.tx, row.pk));
    if (!drift.accepted) {
      const after = await changes.patch(row, { accepted_hash: drift.now });
      const message = `config drift accepted${differs.length === 0 ? '' : `: ${differs.join(', ')}`}`;
      changes.emit(event(SessionUpdated, { ...changes.facts(after), message, payload: {} }));
    }
    return { status: 'ok', id: row.id, accepted: true, differs };
  }

  /** In the transaction: what is accepted is what the city runs at this moment. */
  async #config(city: CityScope, { tx }: SessionChanges): Promise<CityConfig> {
    const known = await this.config.known(city, tx);
    if (known === undefined) throw problem('unavailable', `the configuration of ${city.name} is not known yet`);
    return known.config;
  }

  #told(config: CityConfig, { row, accepted, moved }: Drifted, blocked: boolean): SessionDrift {
    const gone = config.named_sessions.every(({ qualified_name }) => qualified_name !== row.named_identity);
    const next = driftStep({
      accepted,
      stop: row.stop_request,
      stopReason: row.stop_reason,
      orphaned: moved || (row.named_identity !== null && gone),
      blocked,
      inTurn: row.in_turn,
      asks: row.asks,
      restarts: poolSettings(config).restartOnDrift,
    });
    return {
      session_id: row.id,
      title: row.title,
      template: row.template,
      ...(row.alias === '' ? {} : { alias: row.alias }),
      state: row.state,
      activity: row.in_turn ? 'in-turn' : 'idle',
      ...(row.ready_at === null ? {} : { started_at: row.ready_at.toISOString() }),
      differs: [...this.#differs(config, row, row.launch_parts), ...(moved ? ['template'] : [])],
      next,
    };
  }

  #differs(config: CityConfig, row: Started, was: StartedRow['launch_parts']): string[] {
    return differences(was, this.launch.parts(config, { ...row, options: row.launch_options ?? row.options }) ?? {});
  }
}

/** @throws ProblemError wrong_state */
function requireStays(row: SessionRow): void {
  if (row.state === 'closed') throw problem('wrong_state', `session ${row.id} is closed`);
  if (row.stop_request !== null)
    throw problem('wrong_state', `session ${row.id} is being stopped (${row.stop_reason ?? row.stop_request}); it is too late`);
  if (!row.live) throw problem('wrong_state', `session ${row.id} has no process; its next one starts with the configuration of then`);
}

/** Sessions of one agent have one fingerprint, as long as nobody has chosen other options. */
function remembered(fingerprint: (asked: Started) => string | undefined): (asked: Started) => string | undefined {
  const known = new Map<string, string | undefined>();
  return (asked) => {
    const key = JSON.stringify([asked.kind, asked.template, asked.options]);
    if (!known.has(key)) known.set(key, fingerprint(asked));
    return known.get(key);
  };
}

function placeOf(cursor: string | undefined): { readonly us: bigint; readonly pk: number } | undefined {
  const place = parsePlace('drift', cursor);
  if (place === undefined) return undefined;
  if (!/^\d{1,15}$/.test(place.id))
    throw problem('invalid_cursor', 'cursor is not a valid pagination token; re-fetch the first page', { at: 'query.cursor' });
  return { us: BigInt(place.createdAt), pk: Number(place.id) };
}

function isAfter(row: StartedRow, { us, pk }: { readonly us: bigint; readonly pk: number }): boolean {
  const at = BigInt(row.place);
  return at < us || (at === us && row.pk < pk);
}
