import { Injectable } from '@nestjs/common';
import { maySee, type Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import { heldItems } from '../../../platform/database/page-bytes.js';
import { AppConfig } from '../../../platform/config/config.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { Task } from '../../../platform/threads/task.js';
import { TooDear } from '../../../platform/threads/thread.js';
import { Threads } from '../../../platform/threads/threads.js';
import { notRunning } from '../../tenancy/cities/cities.service.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import { SMALL } from '../../files/composition/compose/limits.js';
import { describeIssue } from '../../files/composition/issue.js';
import { PRESETS } from '../../files/composition/presets/presets.js';
import { TreeFailure } from '../../files/composition/trees/file-tree.js';
import type { Overlay } from '../../files/composition/trees/overlay-tree.js';
import { relativePath } from '../../files/composition/trees/paths.js';
import { CityComposer } from './city-composer.js';
import { finishAnswer, toConfigResponse, toRejection, toExplained, toRevision } from './config.mapper.js';
import { ConfigRepository, type CurrentRow } from './config.repository.js';
import type {
  ConfigCandidateBody,
  ConfigDiffBody,
  ConfigDiffQuery,
  ConfigExplainQuery,
  ConfigExplainResponse,
  ConfigRejection,
  ConfigResponse,
  ConfigRevision,
  ConfigRevisionsQuery,
  ConfigValidateOutputBody,
  ListBodyConfigRevision,
} from './config.schemas.js';
import { differing, explaining, showing } from './config-tasks.js';
import { costOfShowing } from './costs.js';
import { defaultsOf } from './defaults.js';
import { tooDear } from './refusals.js';
import { pageFrom, pageToken, startAfter } from './page.js';
import { assembled } from './pieces.js';

/** The configuration that a city runs. */
export interface CurrentConfig {
  readonly revision: number;
  readonly hash: string;
  readonly config: CityConfig;
  /** The head of the city's stream in the same snapshot. */
  readonly index: number;
  /** Why the files as they are now are not this; undefined when they are, or have not been read yet. */
  readonly rejected: ConfigRejection | undefined;
}

/** An answer that belongs to one revision: `ETag` and `X-SVC-Index` go with it. */
export interface Read<T> {
  readonly body: T;
  readonly revision: number;
  readonly index: number;
}

/**
 * Parsed configurations kept in a process, and characters of them: in memory they take some five times as much. A revision never changes,
 * and which one counts is asked each time. Whatever follows what cities run asks within a second, while eight clients make 30 of them.
 */
const CACHED = 64;
const CACHED_CHARACTERS = 4 * 1024 * 1024;

@Injectable()
export class ConfigReadsService {
  readonly #parsed = new Map<string, { readonly config: CityConfig; readonly size: number }>();
  #characters = 0;

  constructor(
    private readonly app: AppConfig,
    private readonly repository: ConfigRepository,
    private readonly composer: CityComposer,
    private readonly threads: Threads,
  ) {}

  /** What the city runs now. For other families. @throws ProblemError unavailable before the first revision. */
  async current(city: Pick<CityScope, 'name' | 'streamId'>): Promise<CurrentConfig> {
    const current = await this.known(city);
    if (current === undefined) throw notComposed(city.name);
    return current;
  }

  /** The same; undefined before the first revision. With `tx` it is read in that transaction. */
  async known(city: Pick<CityScope, 'streamId'>, tx?: Tx): Promise<CurrentConfig | undefined> {
    const row = await this.repository.current(city.streamId, 'none', tx);
    if (row === undefined) return undefined;
    const { revision, hash, head: index, rejected } = row;
    return { revision, hash, config: await this.at(city, row, tx), index, rejected: rejected === null ? undefined : toRejection(rejected) };
  }

  /** The configuration of a revision that somebody has found to count, by its hash. For other families. */
  async at(
    { streamId }: Pick<CityScope, 'streamId'>,
    { revision, hash }: Pick<CurrentConfig, 'revision' | 'hash'>,
    tx?: Tx,
  ): Promise<CityConfig> {
    const key = `${streamId}:${hash}`;
    let known = this.#parsed.get(key);
    if (known === undefined) {
      const pieces = await this.repository.pieces(streamId, revision, tx);
      if (pieces.length === 0) throw problem('unavailable', 'the configuration changed many times while it was read; try again');
      const size = pieces.reduce((sum, { text }) => sum + text.length, 0);
      known = { config: (await assembled(pieces)) as unknown as CityConfig, size };
    }
    this.#forget(key);
    this.#parsed.set(key, known);
    this.#characters += known.size;
    // What was used last stays, however large it is: it is used again at once.
    for (const oldest of this.#parsed.keys()) {
      if (oldest === key || (this.#parsed.size <= CACHED && this.#characters <= CACHED_CHARACTERS)) break;
      this.#forget(oldest);
    }
    return known.config;
  }

  #forget(key: string): void {
    this.#characters -= this.#parsed.get(key)?.size ?? 0;
    this.#parsed.delete(key);
  }

  /** Texts that are stored with what the city runs. For other families. */
  texts(city: Pick<CityScope, 'streamId'>, digests: readonly string[]): Promise<Map<string, string>> {
    return this.repository.texts(city.streamId, digests);
  }

  async head(city: CityScope, tx: Tx): Promise<number> {
    return (await this.repository.current(city.streamId, 'none', tx))?.head ?? 0;
  }

  async isRunning(city: CityScope, tx: Tx): Promise<boolean> {
    return (await this.repository.current(city.streamId, 'none', tx))?.running ?? false;
  }

  /** The body of `GET config` as text. @throws ProblemError city_not_found */
  async get(name: string, caller: Principal): Promise<Read<string>> {
    const row = maySee(caller, name) ? await this.repository.answer(name) : undefined;
    if (row === undefined) throw notRunning(name);
    const { text } = row;
    if (text === null) throw notComposed(name);
    return { body: finishAnswer({ ...row, text }, this.#apiUrl()), revision: row.revision, index: row.head };
  }

  /** The body of `GET config/composed` as text. */
  async composed(city: CityScope, revision: number | undefined): Promise<Read<string>> {
    const row = await this.#current(city);
    const wanted = revision ?? row.revision;
    return this.#holding(city, [wanted], async () => {
      const text = await this.#text(city, wanted, 'config');
      const shown = await this.#work(city, showing, text, costOfShowing(text));
      return { body: `{"revision":${wanted},"config":${shown}}`, revision: wanted, index: row.head };
    });
  }

  async explain(city: CityScope, query: ConfigExplainQuery): Promise<Read<ConfigExplainResponse>> {
    const { config, revision, index } = await this.current(city);
    const start = startAfter(query.cursor, revision);
    const { path, limit } = query;
    const { values, total } = await this.#holding(city, [revision], async () => {
      const [text, origins] = await Promise.all([this.#text(city, revision, 'config'), this.#text(city, revision, 'origins')]);
      return this.#work(city, explaining, { config: text, origins, path, start, limit }, costOfShowing(text, origins));
    });
    const page = pageFrom(start, values, total, revision);
    return {
      body: { ...toExplained(config, PRESETS), revision, values: page.items, values_total: total, ...page.next },
      revision,
      index,
    };
  }

  /** What a city without anything of its own is. */
  async defaults(city: CityScope): Promise<Read<ConfigResponse>> {
    const row = await this.#current(city);
    return { body: toConfigResponse(defaultsOf(city)), revision: row.revision, index: row.head };
  }

  /** Composes the files as they are now, or with some of them as they might be. Changes nothing. */
  async validate(city: CityScope, caller: Principal, candidate?: ConfigCandidateBody): Promise<ConfigValidateOutputBody> {
    const { overlay, unusable } = candidate === undefined ? { overlay: undefined, unusable: [] } : overlayOf(candidate);
    const { issues, overlooked } = await this.composer.compose(city, { overlay, asking: { caller } }, (result) => result);
    const lines = (severity: string): string[] => issues.filter((issue) => issue.severity === severity).map(describeIssue);
    const errors = [...unusable, ...lines('error')];
    // What cannot be used may not have been read to its end.
    const unread =
      errors.length > 0 ? [] : overlooked.map((file) => describeIssue({ severity: 'warning', file, key: '', message: UNREAD }));
    const warnings = [...unread, ...lines('warning')];
    return { valid: errors.length === 0, errors: errors.length === 0 ? null : errors, warnings: warnings.length === 0 ? null : warnings };
  }

  async revisions(city: CityScope, query: ConfigRevisionsQuery): Promise<Read<ListBodyConfigRevision>> {
    const row = await this.#current(city);
    const before = pageToken(query.cursor);
    const [rows, total] = await Promise.all([
      this.repository.list(city.streamId, before, query.limit + 1),
      this.repository.count(city.streamId),
    ]);
    const most = rows.slice(0, query.limit).map(toRevision);
    const items = most.slice(0, heldItems(most));
    const next = rows.length > items.length ? { next_cursor: String(items.at(-1)!.revision) } : {};
    return { body: { items, total, ...next }, revision: row.revision, index: row.head };
  }

  async revision(city: CityScope, revision: number): Promise<ConfigRevision> {
    const row = await this.repository.summary(city.streamId, revision);
    if (row === undefined) throw problem('not_found', `configuration revision ${revision} not found`);
    return toRevision(row);
  }

  async diff(city: CityScope, query: ConfigDiffQuery): Promise<ConfigDiffBody> {
    const row = await this.#current(city);
    const { from = row.revision, to } = query;
    if (to !== undefined)
      return this.#holding(city, [from, to], async () => {
        const before = await this.#text(city, from, 'config');
        const after = await this.#text(city, to, 'config');
        return { from, to: String(to), ...(await this.#differences(city, before, after)) };
      });
    return this.composer.compose(city, {}, async (now) => {
      if ('errors' in now) return { from, to: 'files', differences: [], total: 0, errors: now.errors.map(describeIssue) };
      const before = await this.#text(city, from, 'config');
      return { from, to: 'files', ...(await this.#differences(city, before, now.composed.configText)) };
    });
  }

  #differences(city: CityScope, before: string, after: string): Promise<Pick<ConfigDiffBody, 'differences' | 'total'>> {
    return this.#work(city, differing, { before, after }, costOfShowing(before, after));
  }

  /** Texts of these revisions are in memory while this works: large ones wait for each other. */
  async #holding<T>({ name, streamId }: CityScope, revisions: readonly number[], work: () => Promise<T>): Promise<T> {
    const size = await this.repository.size(streamId, revisions);
    if (size <= SMALL.result) return work();
    const share = await this.threads.hold(name, size);
    try {
      return await work();
    } finally {
      share.giveBack();
    }
  }

  /** @throws ProblemError validation_failed when the configuration is too much for what was asked */
  async #work<I, O>({ name }: CityScope, task: Task<I, O>, input: I, cost: number): Promise<O> {
    try {
      return await this.threads.runOrDo({ task, owner: name, input }, cost);
    } catch (error) {
      throw error instanceof TooDear ? tooDear('the configuration', error) : error;
    }
  }

  async #current(city: CityScope): Promise<CurrentRow> {
    const row = await this.repository.current(city.streamId, 'none');
    if (row === undefined) throw notComposed(city.name);
    return row;
  }

  async #text(city: CityScope, revision: number, text: 'config' | 'origins'): Promise<string> {
    const found = await this.repository.text(city.streamId, revision, text);
    if (found === undefined) throw problem('not_found', `configuration revision ${revision} not found`);
    return found;
  }

  /** Where this process serves. Bound elsewhere than on loopback it cannot know under which address it is reached. */
  #apiUrl(): string | undefined {
    const { host, port, loopback } = this.app;
    return port === 0 || !loopback ? undefined : this.app.urlOf(host, port);
  }
}

function notComposed(name: string): Error {
  return problem('unavailable', `the configuration of ${name} has not been composed yet`);
}

const UNREAD = 'the configuration is not made of this file: nothing in it was checked';

/** The candidate's files by the paths that they would be read under, and what is wrong with those that never would be. */
function overlayOf({ files }: ConfigCandidateBody): { overlay: Overlay; unusable: string[] } {
  const texts = new Map<string, string>();
  const removed = new Set<string>();
  const unusable: string[] = [];
  for (const [given, text] of Object.entries(files)) {
    try {
      const path = relativePath(given);
      if (text === null) removed.add(path);
      else texts.set(path, text);
    } catch (error) {
      if (!(error instanceof TreeFailure)) throw error;
      unusable.push(`${error.path}: ${error.message}`);
    }
  }
  return { overlay: { texts, removed }, unusable };
}
