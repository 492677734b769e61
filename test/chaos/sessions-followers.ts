import { Agent, get, type IncomingMessage } from 'node:http';
import { createParser } from 'eventsource-parser';
import type { Member } from './fleet.js';
import type { Random } from './random.js';
import type { Follow, Follower, SessionsHistory } from './sessions-history.js';
import { Wanderer } from './wanderer.js';

const agent = new Agent({ keepAlive: false });
const HEADERS_WITHIN_MS = 15_000;

/** Follows one session, goes away at random and comes back to any replica from the last position it has. */
export class SessionFollower {
  #position: string | undefined;
  readonly #wanderer: Wanderer;

  constructor(
    readonly follower: Follower,
    private readonly city: string,
    private readonly replicas: readonly Member[],
    private readonly random: Random,
    private readonly history: SessionsHistory,
    private readonly now: () => number,
  ) {
    history.followers.push(follower);
    this.#wanderer = new Wanderer(async () => {
      await this.#once();
      return this.random.int(50, 400);
    });
  }

  settle(): void {
    this.#wanderer.settle();
  }

  close(): Promise<void> {
    return this.#wanderer.close();
  }

  #once(): Promise<void> {
    const replica = this.random.pick(this.replicas);
    const after = this.#position;
    const header = this.random.chance(0.6);
    const url = new URL(`/v0/city/${this.city}/session/${this.follower.session}/stream`, replica.url);
    url.searchParams.set('format', this.follower.format);
    url.searchParams.set('include_thinking', 'true');
    if (after !== undefined && !header) url.searchParams.set('after_cursor', after);
    const headers = { accept: 'text/event-stream', ...(after !== undefined && header ? { 'last-event-id': after } : {}) };
    return new Promise((resolve) => {
      const outgoing = get(url.href, { agent, headers }, (response) => {
        clearTimeout(timer);
        response.on('error', () => undefined);
        response.on('close', resolve);
        if (response.statusCode === 200) this.#read(response, replica, after);
        else response.resume();
      });
      outgoing.on('error', () => resolve());
      outgoing.on('close', () => resolve());
      const timer = setTimeout(() => outgoing.destroy(), HEADERS_WITHIN_MS);
      this.#wanderer.onAbort(() => outgoing.destroy());
    });
  }

  #read(response: IncomingMessage, replica: Member, after: string | undefined): void {
    const { name } = this.follower;
    const from = after === undefined ? {} : { after: Number(after) };
    const follow: Follow = { follower: name, replica: replica.name, ...from, openedAt: this.now(), frames: [] };
    this.history.follows.push(follow);
    let left = false;
    const parser = createParser({
      onEvent: ({ id, event, data }) => {
        // What arrived in one piece with the end is not looked at any more, as if it had been lost on the way.
        if (left) return;
        follow.frames.push({ at: this.now(), event: event ?? 'message', ...(id === undefined ? {} : { id }), data });
        if (id !== undefined) this.#position = id;
      },
    });
    const leave = (): void => {
      left = true;
      response.destroy();
    };
    this.#wanderer.leaveAfter(() => this.random.int(200, 5_000), leave);
    response.setEncoding('utf8');
    response.on('data', (text: string) => parser.feed(text));
    response.on('close', () => (follow.closedAt = this.now()));
  }
}
