import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import path from 'node:path';
import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Lifecycle } from '../../health/lifecycle.js';
import { AppLogger } from '../../logging/logger.js';
import { OutgoingGuard } from '../../outgoing/outgoing-guard.js';
import { createProxy, type ProxyRules } from './proxy.js';
import { makeSocketFolder, sweepSocketFolders, type SocketFolder } from './socket-folder.js';

export interface Caller {
  readonly city: string;
  readonly session: string;
}

interface Wall {
  readonly server: Server;
  readonly open: Set<Socket>;
  readonly socket: string;
  wanted: ProxyRules;
}

/** Lines a session: what an agent tries again and again tells an operator nothing new. */
const MAX_LINES = 50;

/** The ways out of the sandboxes of this process: one a session, as long as it is open, and one for what commands of one owner run. */
@Injectable()
export class NetworkWalls implements OnApplicationBootstrap {
  #made = 0;
  readonly #walls = new Map<string, Promise<Wall>>();
  /** How many have one at once of what is no session, by its key. */
  readonly #users = new Map<string, number>();
  #folder: Promise<SocketFolder> | undefined;

  constructor(
    private readonly guard: OutgoingGuard,
    private readonly log: AppLogger,
    lifecycle: Lifecycle,
  ) {
    lifecycle.onStop('background', 'ways out of sandboxes', () => this.#closeAll());
  }

  /** A worker that was killed has not removed its own. Nothing waits for it. */
  onApplicationBootstrap(): void {
    void sweepSocketFolders().then(
      (count) => count > 0 && this.log.info({ count }, 'removed folders of sockets that killed workers have left'),
      (error: unknown) => this.log.warn({ err: error }, 'folders of sockets that killed workers have left could not be removed'),
    );
  }

  /** The socket of a session's way out, which follows these rules from now on. */
  async of(caller: Caller, wanted: ProxyRules): Promise<string> {
    const key = keyOf(caller);
    const made = this.#walls.get(key) ?? this.#make(caller, wanted);
    this.#walls.set(key, made);
    try {
      const wall = await made;
      wall.wanted = wanted;
      return wall.socket;
    } catch (error) {
      this.#walls.delete(key);
      throw error;
    }
  }

  /** A way out for as long as `work` takes. Several at once share it: it ends with the last. */
  async during<T>(caller: Caller, wanted: ProxyRules, work: (socket: string) => Promise<T>): Promise<T> {
    const key = keyOf(caller);
    this.#users.set(key, (this.#users.get(key) ?? 0) + 1);
    try {
      return await work(await this.of(caller, wanted));
    } finally {
      const left = this.#users.get(key)! - 1;
      if (left > 0) this.#users.set(key, left);
      else {
        this.#users.delete(key);
        this.#close(key);
      }
    }
  }

  /** Ends those of a city's sessions that are over; what begins with `@` is no session's and ends by itself. */
  closeOthers(city: string, open: ReadonlySet<string>): void {
    for (const key of this.#walls.keys()) {
      const [of, session] = key.split('\0') as [string, string];
      if (of === city && !open.has(session) && !session.startsWith('@')) this.#close(key);
    }
  }

  async #make(caller: Caller, wanted: ProxyRules): Promise<Wall> {
    const folder = await this.#sockets();
    const socket = path.join(folder.path, `${++this.#made}`);
    let lines = 0;
    const told = new Set<string>();
    const refused = (host: string, why: string): void => {
      if (lines >= MAX_LINES || told.has(host)) return;
      told.add(host);
      this.log.warn(
        { ...caller, host, why },
        ++lines < MAX_LINES ? 'an agent may not call this host' : 'an agent may not call this host; no more is told of it',
      );
    };
    const server = createProxy(caller.city, () => wall.wanted, this.guard, refused);
    const wall: Wall = { server, socket, wanted, open: new Set() };
    // Those that were joined to somebody are no connections of HTTP's any more.
    server.on('connection', (one) => void wall.open.add(one.once('close', () => wall.open.delete(one))));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ path: socket, exclusive: true }, resolve);
    });
    return wall;
  }

  /** One that could not be made is made anew: the host was out of something for a moment. */
  #sockets(): Promise<SocketFolder> {
    this.#folder ??= makeSocketFolder().catch((error: unknown) => {
      this.#folder = undefined;
      throw error;
    });
    return this.#folder;
  }

  #close(key: string): void {
    const made = this.#walls.get(key);
    this.#walls.delete(key);
    void made
      ?.then(({ server, open }) => {
        server.close();
        for (const one of open) one.destroy();
      })
      .catch(() => undefined);
  }

  async #closeAll(): Promise<void> {
    for (const key of [...this.#walls.keys()]) this.#close(key);
    const folder = await this.#folder?.catch(() => undefined);
    await folder?.remove();
  }
}

const keyOf = ({ city, session }: Caller): string => `${city}\0${session}`;
