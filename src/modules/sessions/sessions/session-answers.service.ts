import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { SessionResponse } from '../../../contract/sessions.schemas.js';
import { problem } from '../../../contract/problems.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { Indexed } from '../../../platform/http/indexed.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import type { Template } from '../launch/launch.js';
import { knownTemplate } from '../launch/template.js';
import type { SessionCity } from '../session-store/session-changes.js';
import { SessionChangesService } from '../session-store/session-changes.service.js';
import { SessionByIdRepository } from './session-by-id.repository.js';
import { changedMembers, toSessionResponse, type SessionView, type ShownTemplate } from './session-view.js';
import { SessionViewsRepository, type ToldView } from './session-views.repository.js';
import { ShownTemplates } from './shown-templates.js';

/** How a session is told: the same body for a read, a list and an event. */
@Injectable()
export class SessionAnswers implements OnModuleInit {
  readonly #templates = new ShownTemplates();

  constructor(
    private readonly repository: SessionViewsRepository,
    private readonly byIds: SessionByIdRepository,
    private readonly config: ConfigReadsService,
    private readonly sessions: SessionChangesService,
  ) {}

  onModuleInit(): void {
    this.sessions.onTold({ tell: (tx, city, ids) => this.#told(tx, city, ids), changed: changedMembers });
  }

  /** A session as it is now. @throws ProblemError session_not_found when it was deleted meanwhile. */
  async of(city: SessionCity, pk: number, id: string, options: { lines?: number } = {}): Promise<Indexed<SessionResponse>> {
    const row = await this.repository.find(city.streamId, pk, options.lines ?? 0);
    if (row === undefined) throw problem('session_not_found', `session ${id} not found`);
    const known = await this.config.known(city);
    return { value: toSessionResponse(row, known && knownTemplate(known.config, row), options.lines), index: row.head };
  }

  /** The session of this id in a running city; undefined where there is none. */
  async byId(city: string, id: string): Promise<Indexed<SessionResponse> | undefined> {
    const row = await this.byIds.find(city, id);
    if (row === undefined) return undefined;
    const [template] = await this.#shown(row.stream_id, [row]);
    return { value: toSessionResponse(row, template), index: row.head };
  }

  /** Many at once, of one configuration. */
  async all(city: SessionCity, rows: readonly SessionView[], lines?: number): Promise<SessionResponse[]> {
    const known = rows.length === 0 ? undefined : await this.config.known(city);
    const templates = new Map<string, Template | undefined>();
    return rows.map((row) => {
      const key = `${row.kind} ${row.template}`;
      if (!templates.has(key)) templates.set(key, known && knownTemplate(known.config, row));
      return toSessionResponse(row, templates.get(key), lines);
    });
  }

  /** By one statement, as a rule: each start and each end of a turn has this. */
  async #told(tx: Tx, city: SessionCity, ids: readonly string[]): Promise<ReadonlyMap<string, SessionResponse>> {
    const rows = await this.repository.told(tx, city.streamId, ids);
    const templates = await this.#shown(city.streamId, rows, tx);
    return new Map(rows.map((row, n) => [row.id, toSessionResponse(row, templates[n])]));
  }

  async #shown(streamId: number, rows: readonly ToldView[], tx?: Tx): Promise<(ShownTemplate | undefined)[]> {
    const { config_revision: revision, config_hash: hash } = rows[0] ?? { config_revision: null, config_hash: null };
    if (revision === null || hash === null) return [];
    return this.#templates.of({ streamId, hash }, rows, () => this.config.at({ streamId }, { revision, hash }, tx), knownTemplate);
  }
}
