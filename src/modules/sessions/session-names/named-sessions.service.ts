import { Injectable } from '@nestjs/common';
import { problem } from '../../../contract/problems.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import { templateOfNamed } from '../launch/template.js';
import type { SessionChanges } from '../session-store/session-changes.js';
import { SessionChangesService } from '../session-store/session-changes.service.js';
import { namedSessionName } from './session-names.js';
import { SessionNamesRepository } from './session-names.repository.js';
import type { SessionRow } from '../session-store/session-row.js';

export interface Materializing {
  /** Why it is wanted at once; without it nobody starts it. */
  readonly wake?: string;
  /** Parked from the start. */
  readonly suspended?: boolean;
}

/** The sessions that a configuration gives a name of their own. */
@Injectable()
export class NamedSessions {
  constructor(
    private readonly changes: SessionChangesService,
    private readonly names: SessionNamesRepository,
  ) {}

  /**
   * Makes the session of a configured identity in the caller's transaction, or finds the one that bears it, as it is
   * committed and not locked. Two at once make one. A predecessor that cannot go on loses its names to the new one.
   *
   * @throws ProblemError session_not_found when it is not configured; conflict when another session has one of its names.
   */
  async materialize(changes: SessionChanges, config: CityConfig, identity: string, how: Materializing): Promise<SessionRow> {
    const { tx, city, actor } = changes;
    const named = config.named_sessions.find(({ qualified_name }) => qualified_name === identity);
    if (named === undefined) throw problem('session_not_found', `no named session ${identity} is configured`);
    const template = templateOfNamed(config, named);
    const owner = await this.names.reserve(tx, city.streamId, identity);
    const bearer = owner === null ? undefined : await this.changes.find(tx, city.streamId, owner);
    if (bearer !== undefined) {
      if (bearer.named_identity !== identity)
        throw problem('conflict', `the configured name ${identity} is in use by session ${bearer.id}`);
      if (canGoOn(bearer)) return bearer;
      await this.names.freeAll(tx, bearer.pk);
    }
    const created = await changes.create({
      alias: identity,
      session_name: namedSessionName(config, named, city.name),
      title: template.title,
      kind: 'agent',
      template: template.name,
      agent: template.name,
      agent_name: identity,
      rig: template.rig,
      provider: template.provider,
      preset: template.preset,
      transport: template.transport,
      origin: 'named',
      named_identity: identity,
      created_by: actor,
      ...(how.suspended === true ? { state: 'suspended', reason: 'user-hold' } : {}),
      ...(how.wake === undefined ? {} : { wake_request: how.wake }),
    });
    if (bearer !== undefined) await changes.replace(bearer, created);
    return created;
  }

  /** @throws ProblemError conflict when the configuration gives the name to a session of its own */
  async requireNotConfigured({ tx, city }: SessionChanges, alias: string): Promise<void> {
    if (await this.names.isIdentity(tx, city.streamId, alias))
      throw problem('conflict', `the name ${alias} belongs to a configured named session`);
    await this.names.forgetIdentity(tx, city.streamId, alias);
  }
}

/** Whether a session is still the one of its configured name. */
export function canGoOn({ state, continuity_eligible }: { readonly state: string; readonly continuity_eligible: boolean }): boolean {
  return state !== 'closed' && (state !== 'archived' || continuity_eligible);
}
