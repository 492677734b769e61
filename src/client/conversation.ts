import type { Caller, Schemas } from './calls.js';
import { followFrames, type OpenStream } from './follow.js';
import { itemsOf, type ListPage } from './pages.js';
import { ApiProblem } from './problems.js';
import { sleep } from './sleep.js';
import { endOf, type TurnEnd } from './turn-end.js';
import { sessionFrame, TurnOf, type Question, type SessionFrame } from './turns.js';

export interface FollowSession {
  /** Begin behind this position of the transcript; without one the stream begins with the conversation so far. */
  readonly after?: string | undefined;
  readonly thinking?: boolean;
  readonly signal?: AbortSignal | undefined;
  readonly onPause?: (ms: number, why: string) => void;
  /** Told of each connection that is there again after a pause. */
  readonly onResume?: () => void;
  /** Fail when nobody listens before the first connection, instead of trying again until somebody does. */
  readonly mustOpen?: boolean;
}

export interface SendOptions {
  /** After the current turn, or instead of it; without one with it, as the session's own way is. */
  readonly intent?: Schemas['SessionSubmitInputBody']['intent'];
  readonly idempotencyKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What is told on the way to the end of a turn. */
export interface TurnOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * Each question that the session asks people meanwhile, once. What it answers is sent to the session, unless somebody else was first. One
   * whose `metadata.answerable` is `false` only an interruption ends: an answer to it is refused (501), and the wait fails with that.
   */
  readonly onQuestion?: (question: Question) => Answer | undefined | Promise<Answer | undefined>;
  /** Each frame of the turn, in order. */
  readonly onFrame?: (frame: SessionFrame) => void;
}

export type Answer = Schemas['SessionRespondInputBody'];

/** What a turn was, once it is over. */
export interface TurnAnswer extends TurnEnd {
  readonly messageId: string;
  /** What the agent has said in it. */
  readonly text: string;
}

/** A message was not taken to its agent, or its session was closed before the turn. */
export class TurnLost extends Error {
  override readonly name = 'TurnLost';
}

const POLL_MS = 2_000;
const NEWEST = 20;
/** The position before all entries of a transcript. */
const BEGINNING = '0';
/** What the service says of a question that is open no longer: the session asks nothing, or something else. */
const SETTLED = new Set(['no_pending', 'invalid_interaction']);
const LOST = new Set(['failed', 'cancelled', 'expired', 'unconfirmed']);

/** One session: what is said to it, what it says, and what it asks. */
export class Conversation {
  readonly #path: { readonly cityName: string; readonly id: string };

  constructor(
    private readonly client: Caller,
    readonly city: string,
    readonly id: string,
  ) {
    this.#path = { cityName: city, id };
  }

  /**
   * Sends a message. The turn that it makes is there to be waited for, or not. With an idempotency key of the caller's own it may be the
   * turn of a life before, which has ended long ago.
   */
  async send(text: string, { intent, ...common }: SendOptions = {}): Promise<Turn> {
    const after = common.idempotencyKey === undefined ? await this.position(common.signal) : undefined;
    const accepted =
      intent === undefined
        ? await this.client.post('/v0/city/{cityName}/session/{id}/messages', { path: this.#path, body: { message: text }, ...common })
        : await this.client.post('/v0/city/{cityName}/session/{id}/submit', {
            path: this.#path,
            body: { message: text, intent },
            ...common,
          });
    // A name leads to the session no more once that is closed, or leads to another one.
    const session = accepted.session_id === undefined ? this : new Conversation(this.client, this.city, accepted.session_id);
    return new Turn(this.client, session, accepted.request_id, after);
  }

  /** The turn of a message that somebody has sent before; `after` is a position of the transcript before it, for less to read. */
  turn(requestId: string, after?: string): Turn {
    return new Turn(this.client, this, requestId, after);
  }

  /** The newest position of its transcript; `0` for a session that is not there yet. */
  async position(signal?: AbortSignal): Promise<string> {
    try {
      const query = { format: 'structured' as const, limit: 1 };
      const data = await this.client.get('/v0/city/{cityName}/session/{id}/transcript', { path: this.#path, query, signal });
      return data.format === 'structured' ? data.history.cursor.resume_token : '0';
    } catch (error) {
      if (error instanceof ApiProblem && error.status === 404) return '0';
      throw error;
    }
  }

  /** What it says and does, for ever, over as many connections as it takes. Ends when the signal aborts, and with the session. */
  async *follow(options: FollowSession = {}): AsyncGenerator<SessionFrame, void, undefined> {
    const { after, thinking, onPause, onResume, mustOpen } = options;
    const ended = new AbortController();
    const signal = AbortSignal.any([ended.signal, ...(options.signal === undefined ? [] : [options.signal])]);
    let closed = false;
    const query = {
      format: 'structured' as const,
      ...(thinking === true ? { include_thinking: true } : {}),
      ...(after === undefined ? {} : { after_cursor: after }),
    };
    const open: OpenStream = (lastEventId) =>
      this.client.open('/v0/city/{cityName}/session/{id}/stream', {
        path: this.#path,
        query,
        header: lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId },
        signal,
        onOpen: ({ status, headers }) => void (closed = status === 204 || headers.get('svc-session-state') === 'closed'),
      });
    const pausing = (ms: number, why: string): void => {
      // A closed session's stream has an end.
      if (closed && why === 'the stream ended') ended.abort();
      else onPause?.(ms, why);
    };
    try {
      for await (const frame of followFrames(open, { signal, onPause: pausing, onResume, mustOpen })) {
        const read = sessionFrame(frame);
        if (read !== undefined) yield read;
      }
    } finally {
      ended.abort();
    }
  }

  /** What it asks people now, the oldest first. */
  async questions(signal?: AbortSignal): Promise<readonly Question[]> {
    const data = await this.client.get('/v0/city/{cityName}/session/{id}/pending', { path: this.#path, signal });
    return data.pending === undefined ? [] : [data.pending, ...(data.others ?? [])];
  }

  /** Answers a question. */
  async respond(answer: Answer, idempotencyKey?: string, signal?: AbortSignal): Promise<void> {
    await this.client.post('/v0/city/{cityName}/session/{id}/respond', { path: this.#path, body: answer, idempotencyKey, signal });
  }
}

/** What a session does for one message, until it is idle again. */
export class Turn {
  constructor(
    private readonly client: Caller,
    private readonly session: Conversation,
    /** Of the 202. */
    readonly requestId: string,
    /** The position of the transcript before the message. */
    readonly after?: string,
  ) {}

  /** The message as the queue of the session has it. @throws TurnLost */
  async message(signal?: AbortSignal): Promise<Schemas['SessionMessageRecord']> {
    const { city, id } = this.session;
    const path = { cityName: city, id };
    // The newest first: it is among the first few, unless it is that of a life before.
    const page = (query: { cursor?: string }): Promise<ListPage<Schemas['SessionMessageRecord']>> =>
      this.client.get('/v0/city/{cityName}/session/{id}/messages', {
        path,
        query: { limit: query.cursor === undefined ? NEWEST : 1_000, ...query },
        signal,
      });
    for await (const message of itemsOf(page)) if (message.request_id === this.requestId) return message;
    throw new TurnLost(`session ${id} does not have the message any more`);
  }

  /**
   * Waits for the end of the turn: what the agent has said in it, which is half an answer where `isCutOff`. @throws TurnLost, ApiProblem; the
   * signal's reason when that aborts before the end
   */
  async answer(options: TurnOptions = {}): Promise<TurnAnswer> {
    const message = await this.message(options.signal);
    const turn = new TurnOf(message.id);
    const done = new AbortController();
    const behind = new AbortController();
    const signal = AbortSignal.any([done.signal, ...(options.signal === undefined ? [] : [options.signal])]);
    let lost: TurnLost | undefined;
    const watching = this.#dropping(message.id, turn, signal, () => {
      // The message may have come while this was asked, and nothing comes before the beginning.
      if (!turn.begun && this.after !== BEGINNING) behind.abort();
    }).then((error) => {
      lost = error;
      if (error !== undefined) done.abort();
    });
    const asked = new Set<string>();
    const follow = async (after: string | undefined, until: AbortSignal): Promise<void> => {
      for await (const frame of this.session.follow({ after, signal: until })) {
        turn.take(frame);
        options.onFrame?.(frame);
        if (turn.over) return;
        if (frame.event === 'pending' && !asked.has(frame.data.request_id)) {
          asked.add(frame.data.request_id);
          const answer = await options.onQuestion?.(frame.data);
          if (answer !== undefined) await this.#respond(frame.data.request_id, answer, options.signal);
        }
      }
    };
    try {
      await follow(this.after, AbortSignal.any([signal, behind.signal]));
      if (behind.signal.aborted && !turn.begun && !signal.aborted) await follow(BEGINNING, signal);
    } finally {
      done.abort();
      await watching;
    }
    if (!turn.over) {
      options.signal?.throwIfAborted();
      if (lost !== undefined) throw lost;
      // The session was closed: its turn, if there was one, has ended with it.
      if (!turn.begun) throw new TurnLost(`session ${this.session.id} was closed before its turn`);
    }
    const end = await endOf((until) => this.#record(message.id, until), options.signal);
    return { messageId: message.id, text: turn.text, ...end };
  }

  #record(messageId: string, signal: AbortSignal | undefined): Promise<Schemas['SessionMessageRecord']> {
    const path = { cityName: this.session.city, id: this.session.id, messageId };
    return this.client.get('/v0/city/{cityName}/session/{id}/messages/{messageId}', { path, signal });
  }

  /** Answers a question of the turn. Where somebody else was first the turn goes on all the same. */
  async #respond(asked: string, answer: Answer, signal: AbortSignal | undefined): Promise<void> {
    const said = { request_id: asked, ...answer };
    try {
      await this.session.respond(said, undefined, signal);
    } catch (error) {
      if (!(error instanceof ApiProblem && SETTLED.has(error.code ?? '') && said.request_id === asked)) throw error;
    }
  }

  /**
   * Why the turn of a message will never begin. `behind` is called where the stream has begun behind it. Never fails: the stream tells what
   * is wrong with the connection.
   */
  async #dropping(messageId: string, turn: TurnOf, signal: AbortSignal, behind: () => void): Promise<TurnLost | undefined> {
    let delivered = false;
    while (!signal.aborted && !turn.begun) {
      await sleep(POLL_MS, signal);
      if (signal.aborted || turn.begun) return undefined;
      try {
        const { status, error_message: why } = await this.#record(messageId, signal);
        if (LOST.has(status)) return new TurnLost(`the message was ${status}${why === undefined ? '' : `: ${why}`}`);
        if (status !== 'delivered') continue;
        // One that was delivered a moment ago is still on its way here.
        if (!delivered) delivered = true;
        else if (await this.#isTold(messageId, signal)) behind();
        else return new TurnLost(`the transcript of session ${this.session.id} does not have the message any more`);
      } catch {
        // tried again
      }
    }
    return undefined;
  }

  /** Whether the transcript has a message. */
  async #isTold(after: string, signal: AbortSignal): Promise<boolean> {
    const path = { cityName: this.session.city, id: this.session.id };
    try {
      const query = { format: 'structured' as const, after, limit: 1 };
      await this.client.get('/v0/city/{cityName}/session/{id}/transcript', { path, query, signal });
      return true;
    } catch (error) {
      if (error instanceof ApiProblem && error.code === 'transcript_cursor_invalidated') return false;
      throw error;
    }
  }
}
