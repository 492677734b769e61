import { Injectable } from '@nestjs/common';
import { problem, ProblemError } from '../../../../contract/problems.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import type { CityConfig } from '../../../files/composition/city-config.js';
import { ConfigReadsService } from '../../../configuration/config/config-reads.service.js';
import { SessionResolver } from '../../../sessions/session-names/session-resolver.service.js';
import type { SessionRow } from '../../../sessions/session-store/session-row.js';
import { ofAgent, ofSession, requireOpen, type Target } from './target.js';

/** Turns what people write into who is meant, when it is written: names that mean the same are the same target. */
@Injectable()
export class Targets {
  constructor(
    private readonly resolver: SessionResolver,
    private readonly config: ConfigReadsService,
  ) {}

  /** A session that is there and not closed. @throws ProblemError session_not_found, ambiguous, conflict */
  async session(city: CityScope, text: string): Promise<Target> {
    const row = await this.resolver.resolve(city, text, { closed: false, materialize: false });
    requireOpen(row, text);
    return ofSession(row);
  }

  /** A configured name. @throws ProblemError invalid_request for a name that is none, or that several rigs have */
  async agent(city: CityScope, name: string, at = 'body.agent_name'): Promise<Target> {
    const { config } = await this.config.current(city);
    const found = identitiesOf(config, name);
    if (found.length > 1)
      throw problem('invalid_request', `resolving agent "${name}": it may be ${found.slice(0, 20).join(', ')}; say which`, { at });
    if (found.length === 1) return ofAgent(found[0]!);
    throw problem(
      'invalid_request',
      `agent "${name}" does not resolve to a configured named session; agent bindings require a named-session-backed agent`,
      { at },
    );
  }

  /** Whoever the text means: a configured name as such, anything else as a session. @throws ProblemError as `session` */
  async either(city: CityScope, text: string): Promise<Target> {
    const { config } = await this.config.current(city);
    if (config.named_sessions.some(({ qualified_name }) => qualified_name === text)) return ofAgent(text);
    return this.session(city, text);
  }

  /** What memberships may call whom a text means, the nearest first. */
  async selectors(city: CityScope, text: string): Promise<string[]> {
    const { config } = await this.config.current(city);
    if (config.named_sessions.some(({ qualified_name }) => qualified_name === text)) return [text];
    const row = await this.#closedToo(city, text);
    return row === undefined ? [text] : [row.id, ...(row.named_identity === null ? [] : [row.named_identity])];
  }

  /** As `either`, for who only looks: undefined for what means nobody, or several. Closed sessions are found, too. */
  async known(city: CityScope, text: string): Promise<Target | undefined> {
    const { config } = await this.config.current(city);
    if (config.named_sessions.some(({ qualified_name }) => qualified_name === text)) return ofAgent(text);
    const row = await this.#closedToo(city, text);
    return row && ofSession(row);
  }

  async #closedToo(city: CityScope, text: string): Promise<SessionRow | undefined> {
    try {
      return await this.resolver.resolve(city, text, { closed: true, materialize: false });
    } catch (error) {
      if (error instanceof ProblemError && error.kind.status < 500) return undefined;
      throw error;
    }
  }
}

/** The configured names that a text may mean: itself, or else those of any rig that end with it. */
export function identitiesOf({ named_sessions: named }: CityConfig, name: string): string[] {
  if (named.some(({ qualified_name }) => qualified_name === name)) return [name];
  return named.filter((session) => session.name === name).map(({ qualified_name }) => qualified_name);
}
