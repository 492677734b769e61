import type { EventsOptions, EventStream } from '../../client/events.js';
import { feedOf as logOf } from '../../client/events.js';
import { ask, failing, type Api } from '../api.js';
import type { Scope } from '../scope.js';
import { defined } from '../values.js';
import type { Envelope, Filter } from './filter.js';

export interface PageRequest {
  readonly filter: Filter;
  /** A duration as the server reads it. */
  readonly since: string | undefined;
  readonly after: string | undefined;
  readonly cursor: string | undefined;
}

export interface Page {
  readonly items: readonly Envelope[];
  readonly next: string | undefined;
}

/** The event log of one scope as the API shows it. */
export interface Feed {
  /** The name of the frames that carry events; all others are passed over. */
  readonly frame: string;
  /** The current head, in the form that `after` takes. */
  head(): Promise<string>;
  page(request: PageRequest): Promise<Page>;
  /** One connection, from a position. */
  open(after: string, types: string[] | undefined, signal: AbortSignal): Promise<ReadableStream<Uint8Array> | undefined>;
  /** Over as many connections as it takes. */
  follow(options: EventsOptions): EventStream<unknown>;
}

export const PAGE_SIZE = 500;

export function feedOf({ city }: Scope, api: Api): Feed {
  const scope = defined({ city });
  return {
    frame: logOf(api.client, scope).frame,
    head: () => logOf(api.client, scope).head(api.signal).catch(failing(api)),
    page: city === undefined ? supervisorPage(api) : cityPage(city, api),
    open: (after, types, signal) =>
      logOf(api.client, { ...scope, ...defined({ types }) })
        .open({ after }, signal)
        .catch(failing(api)),
    follow: (options) => api.client.events({ ...scope, ...options }),
  };
}

/** How many payload matches the list operations take; what is above is left to this side. */
const MAX_MATCHES = 20;

function filterQuery({ type, payload }: Filter): { type?: string; payload_match?: string[] } {
  const matches = payload.map(({ path, value }) => `${path}=${value}`);
  return { ...defined({ type }), ...(matches.length === 0 || matches.length > MAX_MATCHES ? {} : { payload_match: matches }) };
}

function cityPage(cityName: string, api: Api): Feed['page'] {
  return async ({ filter, since, after, cursor }) => {
    const params = {
      path: { cityName },
      query: { limit: PAGE_SIZE, ...filterQuery(filter), ...defined({ since, cursor, after_seq: after }) },
    };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/events', { params, signal }));
    return { items: data.items ?? [], next: data.next_cursor };
  };
}

function supervisorPage(api: Api): Feed['page'] {
  return async ({ filter, since, after, cursor }) => {
    const query = { limit: PAGE_SIZE, ...filterQuery(filter), ...defined({ since, cursor, after_cursor: after }) };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/events', { params: { query }, signal }));
    return { items: data.items ?? [], next: data.next_cursor };
  };
}
