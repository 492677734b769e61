import { ask, openStream, type Api } from '../api.js';
import { CliError } from '../errors.js';
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

/** Where a stream begins: behind a frame's id, or behind a position of the list or of an accepted request. */
export interface Position {
  readonly lastEventId?: string | undefined;
  readonly after?: string | undefined;
}

/** The event log of one scope as the API shows it. */
export interface Feed {
  /** The name of the frames that carry events; all others are passed over. */
  readonly frame: string;
  /** The current head, in the form that `after` takes. */
  head(): Promise<string>;
  page(request: PageRequest): Promise<Page>;
  open(position: Position, types: string[] | undefined, signal: AbortSignal): Promise<ReadableStream<Uint8Array> | undefined>;
}

export const PAGE_SIZE = 500;

export function feedOf(scope: Scope, api: Api): Feed {
  return scope.city === undefined ? supervisorFeed(api) : cityFeed(scope.city, api);
}

const header = (position: Position): { 'Last-Event-ID'?: string } =>
  position.lastEventId === undefined ? {} : { 'Last-Event-ID': position.lastEventId };

/** How many payload matches the list operations take; what is above is left to this side. */
const MAX_MATCHES = 20;

function filterQuery({ type, payload }: Filter): { type?: string; payload_match?: string[] } {
  const matches = payload.map(({ path, value }) => `${path}=${value}`);
  return { ...defined({ type }), ...(matches.length === 0 || matches.length > MAX_MATCHES ? {} : { payload_match: matches }) };
}

function cityFeed(cityName: string, api: Api): Feed {
  const path = { cityName };
  const url = '/v0/city/{cityName}/events';
  return {
    frame: 'event',
    async head() {
      const { response } = await ask(api, (signal) => api.http.GET(url, { params: { path, query: { limit: 1 } }, signal }));
      const index = response.headers.get('x-svc-index');
      if (index === null || !/^\d+$/.test(index)) throw new CliError('the API did not say where the event log of the city ends');
      return index;
    },
    async page({ filter, since, after, cursor }) {
      const query = { limit: PAGE_SIZE, ...filterQuery(filter), ...defined({ since, cursor, after_seq: after }) };
      const { data } = await ask(api, (signal) => api.http.GET(url, { params: { path, query }, signal }));
      return { items: data.items ?? [], next: data.next_cursor };
    },
    open: (position, types, signal) =>
      openStream(api, signal, () =>
        api.http.GET(`${url}/stream`, {
          params: { path, query: defined({ after_seq: position.after, type: types }), header: header(position) },
          headers: { Accept: 'text/event-stream' },
          parseAs: 'stream',
          signal,
        }),
      ),
  };
}

function supervisorFeed(api: Api): Feed {
  const url = '/v0/events';
  return {
    frame: 'tagged_event',
    async head() {
      const { data } = await ask(api, (signal) => api.http.GET(url, { params: { query: { limit: 1 } }, signal }));
      return data.event_cursor;
    },
    async page({ filter, since, after, cursor }) {
      const query = { limit: PAGE_SIZE, ...filterQuery(filter), ...defined({ since, cursor, after_cursor: after }) };
      const { data } = await ask(api, (signal) => api.http.GET(url, { params: { query }, signal }));
      return { items: data.items ?? [], next: data.next_cursor };
    },
    open: (position, types, signal) =>
      openStream(api, signal, () =>
        api.http.GET(`${url}/stream`, {
          params: { query: defined({ after_cursor: position.after, type: types }), header: header(position) },
          headers: { Accept: 'text/event-stream' },
          parseAs: 'stream',
          signal,
        }),
      ),
  };
}
