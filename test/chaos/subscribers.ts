import { Agent, get, type IncomingMessage } from 'node:http';
import { createParser } from 'eventsource-parser';
import type { Member } from './fleet.js';
import type { Connection, Resume, Subscriber } from './history.js';
import type { Random } from './random.js';
import type { Recorder } from './recorder.js';
import { Wanderer } from './wanderer.js';

const agent = new Agent({ keepAlive: false });
const HEADERS_WITHIN_MS = 15_000;
const KEPT_IDS = 400;

/**
 * A client that follows one stream, goes away at random, and comes back to any replica from an id it has: mostly the
 * last one, sometimes an older one.
 */
export class Client {
  readonly #ids: string[];
  readonly #wanderer: Wanderer;

  constructor(
    readonly subscriber: Subscriber,
    private readonly replicas: readonly Member[],
    private readonly random: Random,
    private readonly recorder: Recorder,
    private readonly start: () => Resume,
    known: readonly string[] = [],
  ) {
    this.#ids = [...known];
    recorder.history.subscribers.push(subscriber);
    this.#wanderer = new Wanderer(async () => ((await this.#once()) === 'refused' ? 250 : this.random.int(10, 250)));
  }

  get ids(): readonly string[] {
    return this.#ids;
  }

  /** From now on it stays where it is, and comes back from its last id only. */
  settle(): void {
    this.#wanderer.settle();
  }

  close(): Promise<void> {
    return this.#wanderer.close();
  }

  #resume(): Resume {
    const last = this.#ids.at(-1);
    if (last === undefined) return this.start();
    const position = this.#wanderer.settled || this.random.chance(0.85) ? last : this.random.pick(this.#ids);
    const query = this.subscriber.city === undefined ? 'after_cursor' : 'after_seq';
    return { how: this.random.chance(0.6) ? 'last-event-id' : query, position };
  }

  #once(): Promise<'refused' | 'closed'> {
    const replica = this.random.pick(this.replicas);
    const resume = this.#resume();
    const sentAt = this.recorder.now();
    return new Promise((resolve) => {
      const outgoing = get(this.#url(replica, resume), { agent, headers: this.#headers(resume) }, (response) => {
        clearTimeout(timer);
        if (response.statusCode === 200) this.#read(response, replica, resume, sentAt, () => resolve('closed'));
        else this.#refused(response, replica, () => resolve('refused'));
      });
      outgoing.on('error', () => resolve('closed'));
      const timer = setTimeout(() => outgoing.destroy(), HEADERS_WITHIN_MS);
      this.#wanderer.onAbort(() => outgoing.destroy());
    });
  }

  #url(replica: Member, resume: Resume): string {
    const { city, cities, types } = this.subscriber;
    const url = new URL(city === undefined ? '/v0/events/stream' : `/v0/city/${city}/events/stream`, replica.url);
    if (cities !== undefined) url.searchParams.set('cities', cities.join(','));
    if (types !== undefined) url.searchParams.set('type', types.join(','));
    if (resume.how === 'after_seq' || resume.how === 'after_cursor') url.searchParams.set(resume.how, resume.position);
    return url.href;
  }

  #headers(resume: Resume): Record<string, string> {
    return { accept: 'text/event-stream', ...(resume.how === 'last-event-id' ? { 'last-event-id': resume.position } : {}) };
  }

  #read(response: IncomingMessage, replica: Member, resume: Resume, sentAt: number, done: () => void): void {
    const { recorder } = this;
    const connection: Connection = recorder.connected({
      subscriber: this.subscriber.name,
      replica: replica.name,
      resume,
      sentAt,
      openedAt: recorder.now(),
      frames: [],
    });
    const parser = createParser({
      onRetry: () => connection.frames.push({ at: recorder.now(), event: 'retry', data: '' }),
      onEvent: ({ id, event, data }) => {
        connection.frames.push({ at: recorder.now(), event: event ?? 'message', ...(id === undefined ? {} : { id }), data });
        if (id !== undefined) this.#ids.push(id);
        if (this.#ids.length > KEPT_IDS * 2) this.#ids.splice(0, KEPT_IDS);
      },
    });
    let left = false;
    let ended = false;
    const leave = (): void => {
      left = true;
      response.destroy();
    };
    this.#wanderer.leaveAfter(() => this.random.int(300, 6_000), leave);
    response.setEncoding('utf8');
    response.on('data', (text: string) => parser.feed(text));
    response.on('end', () => (ended = true));
    response.on('error', () => undefined);
    response.on('close', () => {
      connection.closedAt = recorder.now();
      this.#wanderer.onAbort(undefined);
      // A killed process ends its sockets as well; whether it was killed is known a moment later.
      setTimeout(() => {
        connection.closedBy = left ? 'client' : ended && replica.livedFor(200) ? 'server' : 'broken';
        done();
      }, 60);
    });
  }

  #refused(response: IncomingMessage, replica: Member, done: () => void): void {
    let body = '';
    response.setEncoding('utf8');
    response.on('data', (text: string) => (body += text));
    response.on('error', () => undefined);
    response.on('close', () => {
      const { name } = this.subscriber;
      const contentType = response.headers['content-type'] ?? '';
      if (response.complete)
        this.recorder.refused({ subscriber: name, replica: replica.name, status: response.statusCode ?? 0, contentType, body });
      done();
    });
  }
}
