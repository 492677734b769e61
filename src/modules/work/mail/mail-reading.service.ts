import { Injectable } from '@nestjs/common';
import { problem } from '../../../contract/problems.js';
import { totalJson } from '../../../platform/database/totals.js';
import { HeadWaiter } from '../../../platform/streams/head-waiter.js';
import { notRunning } from '../../tenancy/cities/cities.service.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { formatPlace, parsePlace } from '../work/page-token.js';
import type { Done } from '../work/work.service.js';
import { MailAddresses } from './mail-addresses.service.js';
import type { MailFilter, MailStatus } from './mail-filter.js';
import { MailListsRepository, type MailPage, type PageRequest } from './mail-lists.repository.js';
import { messageNotFound, rigNotFound } from './mail-problems.js';
import type { MailCountOutputBody, MailCountQuery, MailListQuery, MailThreadQuery } from './mail.schemas.js';

const STATUSES: readonly MailStatus[] = ['unread', 'all', 'archived'];
const DEFAULT_PAGE = 100;
const THREAD_PAGE = 1000;

/** What is in the mailboxes of a city, as JSON that Postgres has made. A rig's name does not divide them, it only tags what has no tag of its own. */
@Injectable()
export class MailReadingService {
  constructor(
    private readonly repository: MailListsRepository,
    private readonly addresses: MailAddresses,
    private readonly heads: HeadWaiter,
  ) {}

  /** @throws ProblemError invalid_request for a status or an ambiguous agent; invalid_cursor. */
  async list(city: CityScope, query: MailListQuery, gone: AbortSignal): Promise<Done<string>> {
    const after = parsePlace('mail', query.cursor);
    const { tag, unknown } = await this.#tag(city, query.rig);
    const filter: MailFilter = {
      status: toStatus(query.status),
      principal: await this.addresses.mailbox(city, query.agent, query.rig),
      from: await this.addresses.author(city, query.from, query.rig),
      thread: query.thread,
      text: query.text,
      nothing: unknown,
    };
    const request: PageRequest = { order: 'desc', after, limit: query.limit || DEFAULT_PAGE, tag };
    const page = await this.#page(city, filter, request);
    const waited = await this.heads.readAgain(city.stream, page.head, query, gone);
    return toAnswer('mail', waited ? await this.#page(city, filter, request) : page);
  }

  /** Oldest first; `id` is a thread's or that of a message in it. @throws ProblemError invalid_cursor */
  async thread(city: CityScope, id: string, query: MailThreadQuery): Promise<Done<string>> {
    const after = parsePlace('mail-thread', query.cursor);
    const { tag, unknown } = await this.#tag(city, query.rig);
    const filter: MailFilter = { status: 'all', thread: id, nothing: unknown };
    const page = await this.#page(city, filter, { order: 'asc', after, limit: query.limit || THREAD_PAGE, tag });
    return toAnswer('mail-thread', page);
  }

  /** @throws ProblemError invalid_request for an ambiguous agent. */
  async count(city: CityScope, query: MailCountQuery): Promise<Done<MailCountOutputBody>> {
    const { unknown } = await this.#tag(city, query.rig);
    const principal = await this.addresses.mailbox(city, query.agent, query.rig);
    const counts = await this.repository.count(city, { status: 'all', principal, nothing: unknown });
    if (counts === undefined) throw notRunning(city.name);
    const { head, total, unread } = counts;
    return { index: head, value: { total, unread } };
  }

  /** @throws ProblemError mail_not_found for what is not there or was archived; what was swept is found. rig_not_found. */
  async get(city: CityScope, id: string, rig: string | undefined): Promise<Done<string>> {
    const { tag, unknown } = await this.#tag(city, rig);
    if (unknown) throw rigNotFound(rig!);
    const found = await this.repository.find(city, id, tag);
    if (found === undefined) throw notRunning(city.name);
    if (found.json === null) throw messageNotFound(id);
    return { value: found.json, index: found.head };
  }

  async #page(city: CityScope, filter: MailFilter, request: PageRequest): Promise<MailPage> {
    const page = await this.repository.page(city, filter, request);
    if (page === undefined) throw notRunning(city.name);
    return page;
  }

  async #tag(city: CityScope, rig: string | undefined): Promise<{ tag: string; unknown: boolean }> {
    const tag = await this.addresses.tag(city, rig);
    return { tag: tag || city.name, unknown: tag === undefined };
  }
}

function toStatus(text: string | undefined): MailStatus {
  const status = text === undefined ? 'unread' : STATUSES.find((known) => known === text);
  if (status === undefined)
    throw problem('invalid_request', `unsupported status filter: ${text}; supported: ${STATUSES.join(', ')}`, {
      at: 'query.status',
      value: text,
    });
  return status;
}

function toAnswer(kind: string, { head, total, items, more }: MailPage): Done<string> {
  const next = more === undefined ? '' : `,"next_cursor":"${formatPlace(kind, more)}"`;
  return { index: head, value: `{"items":[${items.join(',')}]${next},${totalJson(total)}}` };
}
