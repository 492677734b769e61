import { openStream, type Api, type Schemas } from '../api.js';
import { CliError } from '../errors.js';
import type { OpenStream } from '../follow.js';
import type { Frame } from '../sse.js';
import { defined } from '../values.js';

export type Message = Schemas['SessionStructuredMessage'];
export type Question = Schemas['PendingInteraction'];

/** A frame of a session's structured stream; what is new to this client is left out. */
export type SessionFrame =
  | { readonly event: 'structured'; readonly data: Schemas['SessionStreamStructuredMessageEvent'] }
  | { readonly event: 'activity'; readonly data: Schemas['SessionActivityEvent'] }
  | { readonly event: 'pending'; readonly data: Question }
  | { readonly event: 'pending_cleared'; readonly data: Schemas['SessionPendingClearedEvent'] }
  | { readonly event: 'heartbeat' };

const KNOWN = new Set(['structured', 'activity', 'pending', 'pending_cleared']);

/** @throws CliError when a known frame cannot be read */
export function sessionFrame({ event, data, id }: Frame): SessionFrame | undefined {
  if (event === 'heartbeat') return { event };
  if (event === undefined || !KNOWN.has(event)) return undefined;
  return { event, data: jsonOf(data, event, id) } as SessionFrame;
}

/** @throws CliError */
export function jsonOf(data: string, event: string, id: string | undefined): object {
  try {
    const value = JSON.parse(data) as unknown;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // told below
  }
  throw new CliError(`undecodable ${event} frame${id === undefined ? '' : ` at ${id}`}`);
}

export interface SessionPosition {
  readonly lastEventId?: string | undefined;
  readonly after?: string | undefined;
}

export interface SessionOpening {
  readonly city: string;
  readonly session: string;
  readonly thinking?: boolean;
  readonly signal: AbortSignal;
  /** Told the state of the session when the stream begins. */
  readonly onState?: (state: string) => void;
}

/** Opens the structured stream of a session. */
export function openSession(
  api: Api,
  { city, session, thinking, signal, onState }: SessionOpening,
  { lastEventId, after }: SessionPosition,
): ReturnType<OpenStream> {
  const query = {
    format: 'structured' as const,
    ...defined({ include_thinking: thinking === true ? true : undefined, after_cursor: after }),
  };
  return openStream(api, signal, async () => {
    const answer = await api.http.GET('/v0/city/{cityName}/session/{id}/stream', {
      params: { path: { cityName: city, id: session }, query, header: lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId } },
      headers: { Accept: 'text/event-stream' },
      parseAs: 'stream',
      signal,
    });
    const state = answer.response.headers.get('svc-session-state');
    if (answer.response.status === 204) onState?.('closed');
    else if (state !== null) onState?.(state);
    return answer;
  });
}
