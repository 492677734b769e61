import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { ClaimsOfSessions } from '../session-store/claims-of-sessions.service.js';
import { SessionChangesService } from '../session-store/session-changes.service.js';
import { SessionDeletionsRepository } from './session-deletions.repository.js';
import { SessionRequests } from './session-requests.service.js';
import { byNameOrEnded } from '../session-names/by-name.js';
import { SessionResolver } from '../session-names/session-resolver.service.js';
import type { SessionRow } from '../session-store/session-row.js';
import { stopWish } from '../session-store/session-stops.js';

/** Ends sessions for good. */
@Injectable()
export class SessionClosing {
  constructor(
    private readonly resolver: SessionResolver,
    private readonly changes: SessionChangesService,
    private readonly requests: SessionRequests,
    private readonly claims: ClaimsOfSessions,
    private readonly config: ConfigReadsService,
    private readonly deletions: SessionDeletionsRepository,
  ) {}

  /**
   * Closes a session once its process is confirmed dead: its names are free, its work is open again, nothing of it is awaited
   * any more. Closing it twice changes nothing. With `remove` its record goes, too.
   *
   * @throws ProblemError session_not_found, ambiguous; wrong_state for one that the configuration always wants;
   * unavailable, see `SessionRequests.confirmed`.
   */
  async close(city: CityScope, text: string, remove: boolean, caller: Principal, gone: AbortSignal): Promise<void> {
    const resolve = (): Promise<SessionRow> => this.resolver.resolve(city, text, { closed: false, materialize: false });
    const row = await byNameOrEnded(text, resolve, (found, locked) => this.#close(city, found, remove, caller, locked));
    const closed = await this.requests.confirmed(city, row, gone, ({ state }) => state === 'closed');
    if (remove && closed !== undefined) await this.deletions.delete(closed.pk);
  }

  /** @param locked may refuse what has been closed already */
  async #close(
    city: CityScope,
    found: SessionRow,
    remove: boolean,
    { actor }: Principal,
    locked: (row: SessionRow) => void,
  ): Promise<SessionRow> {
    await this.#requireNotAlways(city, found);
    const { value: row } = await this.changes.withWork(city, actor, async (changes, work) => {
      const before = await changes.require(found.pk, found.id);
      locked(before);
      const set = remove && !before.delete_pending ? { delete_pending: true } : {};
      if (before.state === 'closed') return Object.keys(set).length === 0 ? before : changes.patch(before, set);
      if (before.runner_id !== null) {
        const wish = { ...stopWish(before, 'close', { reason: 'operator' }), ...set, wake_request: null };
        return changes.patch(before, wish);
      }
      await this.claims.end(changes, work, before, 'closed');
      return changes.close(before, 'operator', { set });
    });
    return row;
  }

  /** It would only be made again. */
  async #requireNotAlways(city: CityScope, { state, named_identity: identity }: SessionRow): Promise<void> {
    if (state === 'closed' || identity?.includes('/') !== true) return;
    const named = (await this.config.known(city))?.config.named_sessions.find(({ qualified_name }) => qualified_name === identity);
    if (named?.mode === 'always')
      throw problem(
        'wrong_state',
        `${identity}: configured always-on named sessions cannot be closed while config-managed; suspend it instead`,
      );
  }
}
