import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import type { AsyncAcceptedBody } from '../../../contract/scalars.js';
import type { SessionCreateBody } from '../../../contract/sessions.schemas.js';
import { Db } from '../../../platform/database/database.js';
import { Idempotency } from '../../../platform/idempotency/idempotency.js';
import { Operations } from '../../../platform/operations/operations.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { idempotencyRef } from '../../tenancy/cities/idempotency-ref.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import type { Template } from '../launch/launch.js';
import { LaunchService } from '../launch/launch.service.js';
import { EffectiveSuspension } from '../launch/effective-suspension.service.js';
import { MessageQueue } from '../messages/message-queue.service.js';
import { ProvidersService } from '../../hosts/providers/providers.service.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import type { SessionChanges } from '../session-store/session-changes.js';
import { SessionChangesService } from '../session-store/session-changes.service.js';
import { adHocName, checkAlias, qualifiedAlias } from '../session-names/session-names.js';
import { NamedSessions } from '../session-names/named-sessions.service.js';
import { firstLine, requestOf, type CreateRequest } from './session-create-request.js';
import type { NewSession } from '../session-store/session-row.js';
import { baseOf } from './session-view.js';
import { createTarget, SessionCreate } from './sessions.operations.js';

/** Makes sessions for people. Whatever can be checked is checked before the request is accepted. */
@Injectable()
export class SessionCreation {
  constructor(
    private readonly db: Db,
    private readonly config: ConfigReadsService,
    private readonly launch: LaunchService,
    private readonly suspension: EffectiveSuspension,
    private readonly providers: ProvidersService,
    private readonly roster: RosterService,
    private readonly changes: SessionChangesService,
    private readonly named: NamedSessions,
    private readonly queue: MessageQueue,
    private readonly operations: Operations,
    private readonly idempotency: Idempotency,
  ) {}

  /**
   * @throws ProblemError invalid_request, agent_not_found, provider_not_found, provider_not_ready; conflict when the alias is
   * taken or belongs to the configuration; wrong_state naming what is suspended.
   */
  async create(city: CityScope, body: SessionCreateBody, key: string | undefined, caller: Principal): Promise<AsyncAcceptedBody> {
    const ref = idempotencyRef(caller, city.name, 'create-session', key, body);
    const stored = ref && (await this.idempotency.lookup(this.db, ref));
    if (stored !== undefined) return stored.body as AsyncAcceptedBody;
    const request = requestOf(body);
    const { config, index } = await this.config.current(city);
    const template = this.launch.template(config, request.kind, request.name);
    this.launch.validateOptions(template, request.options);
    const session = await this.#session(city, template, request, caller.actor);
    const blocker = await this.suspension.blocker(city, { agent: template.agent?.qualified_name, rig: template.rig }, config);
    if (blocker !== undefined) throw problem('wrong_state', `no session of ${template.name} can be started: ${blocker}`);
    if (template.preset !== undefined) await this.providers.requireReady(template.preset);
    return this.changes.run(city, caller.actor, async (changes) => {
      const answer = await this.idempotency.run(changes.tx, ref, async () => ({
        status: 202,
        body: await this.#accept(changes, session, request.message, String(index)),
      }));
      return answer.body;
    });
  }

  async #accept(
    changes: SessionChanges,
    session: NewSession,
    message: string | undefined,
    eventCursor: string,
  ): Promise<AsyncAcceptedBody> {
    if (session.alias !== undefined && session.alias !== '') await this.named.requireNotConfigured(changes, session.alias);
    const row = await changes.create(session);
    const requestId = this.operations.newRequestId();
    if (message !== undefined) {
      const sent = { body: message, source: 'create', sender: changes.actor, requestId } as const;
      await this.queue.enqueue(changes, row, sent);
    }
    const input = { sessionId: row.id, streamId: changes.city.streamId, message: message !== undefined };
    const { stream } = changes.city;
    await this.operations.accept(changes.tx, SessionCreate, {
      target: createTarget(row.id),
      input,
      stream,
      eventCursor,
      subject: row.id,
      requestId,
    });
    return { status: 'accepted', request_id: requestId, event_cursor: eventCursor, session_id: row.id };
  }

  async #session(city: CityScope, template: Template, request: CreateRequest, actor: string): Promise<NewSession> {
    const alias = request.alias === '' ? '' : qualifiedAlias(request.alias, template.rig, template.isPool && template.kind === 'agent');
    if (alias !== '') {
      const rigs = await this.roster.rigs(city.streamId);
      checkAlias(
        alias,
        rigs.map(({ prefix }) => prefix),
      );
    }
    const agent = template.agent?.qualified_name;
    const many = agent !== undefined && template.isPool && alias === '';
    return {
      alias,
      ...(many ? { session_name: adHocName(baseOf(agent), randomBytes(5).toString('hex')) } : {}),
      title: request.title ?? firstLine(request.message) ?? template.title,
      kind: template.kind,
      template: template.name,
      ...(agent === undefined ? {} : { agent, agent_name: agent }),
      rig: template.rig,
      provider: template.provider,
      preset: template.preset,
      transport: template.transport,
      origin: 'manual',
      created_by: actor,
      options: request.options,
      metadata: request.projectId === undefined ? {} : { real_world_app_project_id: request.projectId },
      wake_request: 'create',
    };
  }
}
