import { setTimeout as sleep } from 'node:timers/promises';
import { ask, type Api, type Schemas } from '../api.js';
import { printJson, type CityContext } from '../command.js';
import { ApiError, CliError, InterruptedError } from '../errors.js';
import { followFrames, type OpenStream } from '../follow.js';
import type { Io } from '../io.js';
import { openSession, sessionFrame, type Message, type SessionFrame } from './frames.js';
import { harmless, harmlessLine } from '../harmless.js';
import { saidOf } from './parts.js';

export interface Answer {
  readonly session_id: string;
  readonly message_id: string;
  /** What the agent has said in the turn. */
  readonly answer: string;
}

export interface Awaited {
  readonly session: string;
  readonly requestId: string;
  /** Of the transcript, before the message. */
  readonly position: string;
  readonly timeoutMs: number | undefined;
}

/** The newest position of a session's transcript; `0` for one that is not there yet. */
export async function positionOf(api: Api, city: string, session: string): Promise<string> {
  const params = { path: { cityName: city, id: session }, query: { format: 'structured' as const, limit: 1 } };
  try {
    const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/session/{id}/transcript', { params, signal }));
    return data.format === 'structured' ? data.history.cursor.resume_token : '0';
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return '0';
    throw error;
  }
}

/** What of a session's frames is the turn of one message. */
export class TurnOf {
  readonly #said = new Map<string, string>();
  #begun = false;
  #over = false;

  constructor(private readonly messageId: string) {}

  get begun(): boolean {
    return this.#begun;
  }

  get over(): boolean {
    return this.#over;
  }

  get text(): string {
    return [...this.#said.values()].filter((text) => text !== '').join('\n');
  }

  /** A turn ends where the session is idle again, or where the next one begins. */
  take(frame: SessionFrame): void {
    if (this.#over) return;
    if (frame.event === 'structured') for (const message of frame.data.structured_messages) this.#take(message);
    else if (frame.event === 'activity' && frame.data.activity === 'idle') this.#over = this.#begun;
  }

  #take(message: Message): void {
    const { id, role, status } = message;
    if (id === this.messageId) this.#begun = true;
    else if (!this.#begun || this.#over) return;
    else if (role === 'user') this.#over = true;
    else if (status === 'superseded') this.#said.delete(id);
    else if (role === 'assistant') this.#said.set(id, saidOf(message));
  }
}

const POLL_MS = 2_000;

/** Waits for the end of a message's turn. @throws CliError when it comes to nothing, InterruptedError at Ctrl-C */
export async function answerTo(context: CityContext<object>, awaited: Awaited): Promise<Answer> {
  const { api, city } = context;
  const { session, position, timeoutMs } = awaited;
  const message = await sent(api, city, awaited);
  const turn = new TurnOf(message.id);
  const done = new AbortController();
  const limit = timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)];
  const signal = AbortSignal.any([api.signal, done.signal, ...limit]);
  let closed = false;
  let dropped: CliError | undefined;
  const open = (lastEventId: string | undefined): ReturnType<OpenStream> =>
    openSession(
      api,
      { city, session, signal, onState: (state) => (closed = state === 'closed') },
      lastEventId === undefined ? { after: position } : { lastEventId },
    );
  const onPause = (_ms: number, why: string): void => {
    if (closed && why === 'the stream ended') done.abort();
  };
  const watching = dropping(api, city, session, message.id, turn, signal).then((error) => {
    dropped = error;
    if (error !== undefined) done.abort();
  });
  try {
    for await (const frame of followFrames(open, { signal, onPause })) {
      const read = sessionFrame(frame);
      if (read === undefined) continue;
      turn.take(read);
      if (turn.over) break;
    }
  } finally {
    done.abort();
    await watching;
  }
  if (turn.over || (closed && turn.begun)) return { session_id: session, message_id: message.id, answer: turn.text };
  if (api.signal.aborted) throw new InterruptedError(`interrupted; session ${session} goes on`);
  throw (
    dropped ??
    new CliError(closed ? `session ${session} was closed before its turn` : `no answer within the time-out; session ${session} goes on`)
  );
}

async function sent(api: Api, city: string, { session, requestId }: Awaited): Promise<Schemas['SessionMessageRecord']> {
  const params = { path: { cityName: city, id: session }, query: { limit: 1000 } };
  const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/session/{id}/messages', { params, signal }));
  const message = data.items.find(({ request_id: id }) => id === requestId);
  if (message === undefined) throw new CliError(`session ${session} does not have the message any more`);
  return message;
}

const LOST = new Set(['failed', 'cancelled', 'expired', 'unconfirmed']);

/** Why a message that waits will never be delivered. Never fails: the stream tells what is wrong with the connection. */
async function dropping(
  api: Api,
  city: string,
  session: string,
  messageId: string,
  turn: TurnOf,
  signal: AbortSignal,
): Promise<CliError | undefined> {
  const params = { path: { cityName: city, id: session, messageId } };
  while (!signal.aborted && !turn.begun) {
    await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
    if (signal.aborted || turn.begun) return undefined;
    try {
      const { data } = await ask(api, (limit) =>
        api.http.GET('/v0/city/{cityName}/session/{id}/messages/{messageId}', { params, signal: AbortSignal.any([limit, signal]) }),
      );
      if (!LOST.has(data.status)) continue;
      return new CliError(
        `the message was ${data.status}${data.error_message === undefined ? '' : `: ${harmlessLine(data.error_message)}`}`,
      );
    } catch {
      // tried again
    }
  }
  return undefined;
}

export async function tellAnswer(io: Io, flags: { readonly json?: boolean }, answer: Answer): Promise<void> {
  if (flags.json === true) return printJson(io, answer);
  const text = harmless(answer.answer).replace(/\s+$/, '');
  if (text !== '') await io.out(`${text}\n`);
}
