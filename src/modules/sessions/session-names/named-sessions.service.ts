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
  /** There, and started once something is for it. */
  readonly asleep?: boolean;
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
   * committed and not locked. Two at once make one. A predecessor that cannot go on loses its names to the new one: it is locked before
   * them, and what it has of conversations, as by whoever ends it.
   *
   * @throws ProblemError session_not_found when it is not configured; conflict when another session has one of its names; unavailable when the
   * one that was made meanwhile cannot go on either.
   */
  async materialize(changes: SessionChanges, config: CityConfig, identity: string, how: Materializing): Promise<SessionRow> {
    const { tx, city, actor } = changes;
    const named = config.named_sessions.find(({ qualified_name }) => qualified_name === identity);
    if (named === undefined) throw problem('session_not_found', `no named session ${identity} is configured`);
    const template = templateOfNamed(config, named);
    const [found] = await this.names.bearers(tx, city.streamId, [identity]);
    const there = found === undefined ? undefined : this.#goingOn(identity, await this.changes.find(tx, city.streamId, found));
    if (there !== undefined) return there;
    if (found !== undefined) await changes.lockAll([found], [found]);
    await changes.lockNames();
    const owner = await this.names.reserve(tx, city.streamId, identity);
    const bearer = owner === null ? undefined : await this.changes.find(tx, city.streamId, owner);
    if (bearer !== undefined) {
      const made = this.#goingOn(identity, bearer);
      if (made !== undefined) return made;
      if (bearer.pk !== found) throw problem('unavailable', `the session of ${identity} is being changed; try again`);
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
      ...(how.asleep === true ? { state: 'asleep' } : {}),
      ...(how.wake === undefined ? {} : { wake_request: how.wake }),
    });
    if (bearer !== undefined) await changes.replace(bearer, created);
    return created;
  }

  /**
   * Makes the session that takes the place of one that is about to end, which loses its names first, and what it has of conversations. The
   * caller has locked it, those, and the names (`lockNames`).
   *
   * @throws ProblemError as `materialize`
   */
  async succeed(
    changes: SessionChanges,
    config: CityConfig,
    identity: string,
    before: SessionRow,
    how: Materializing,
  ): Promise<SessionRow> {
    await this.names.freeAll(changes.tx, before.pk);
    const after = await this.materialize(changes, config, identity, how);
    await changes.replace(before, after);
    return after;
  }

  /** The sessions that bear configured names, as it is committed: who makes several may have to replace them. */
  async bearers({ tx, city }: SessionChanges, identities: readonly string[]): Promise<readonly number[]> {
    return identities.length === 0 ? [] : this.names.bearers(tx, city.streamId, identities);
  }

  /** The one that bears a name, unless it has to be replaced. @throws ProblemError conflict when it is another's */
  #goingOn(identity: string, bearer: SessionRow | undefined): SessionRow | undefined {
    if (bearer === undefined) return undefined;
    if (bearer.named_identity !== identity) throw problem('conflict', `the configured name ${identity} is in use by session ${bearer.id}`);
    return canGoOn(bearer) ? bearer : undefined;
  }

  /**
   * The names of the city's sessions are the caller's until the commit.
   *
   * @throws ProblemError conflict when the configuration gives the name to a session of its own
   */
  async requireNotConfigured(changes: SessionChanges, alias: string): Promise<void> {
    const { tx, city } = changes;
    await changes.lockNames();
    if (await this.names.isIdentity(tx, city.streamId, alias))
      throw problem('conflict', `the name ${alias} belongs to a configured named session`);
    await this.names.forgetIdentity(tx, city.streamId, alias);
  }
}

/** Whether a session is still the one of its configured name. */
export function canGoOn({ state, continuity_eligible }: { readonly state: string; readonly continuity_eligible: boolean }): boolean {
  return state !== 'closed' && (state !== 'archived' || continuity_eligible);
}
