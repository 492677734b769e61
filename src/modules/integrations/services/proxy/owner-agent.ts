import { once } from 'node:events';
import { Agent, type IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { Pool, type Dispatcher } from 'undici';
import { Lifecycle } from '../../../../platform/health/lifecycle.js';
import { hopTo, OwnerGone } from '../hop.js';
import { HopSecret } from '../hop-secret.js';
import { OwnedSockets } from '../owned-sockets.js';

/** Longer than between two requests of many, and shorter than anything that a service waits for the next one. */
const KEPT_MS = 500;
/** Services with connections that are kept. */
const MOST_KEPT = 256;

interface Owner {
  readonly address: string;
  readonly instance: string;
}

/** A connection to the process of a service for one request, wherever that is. */
class OwnerAgent extends Agent {
  constructor(private readonly connect: () => Promise<Socket>) {
    super({ keepAlive: false });
  }

  override createConnection(_options: unknown, done?: (error: Error | null, stream: Duplex) => void): undefined {
    this.connect().then(
      (socket) => done?.(null, socket),
      (error: unknown) => done?.(error as Error, undefined as never),
    );
    return undefined;
  }
}

/**
 * Knows how services are reached. What has no body and changes nothing shares connections, which are kept for a moment; everything
 * else has one of its own: where a body ends is nobody else's matter, and it is never lost with a connection that was old.
 */
@Injectable()
export class Owners {
  readonly #kept = new Map<string, Pool>();

  constructor(
    private readonly owned: OwnedSockets,
    private readonly secret: HopSecret,
    lifecycle: Lifecycle,
  ) {
    owned.onClosing((instance) => this.#forget(instance));
    lifecycle.onStop('server', 'connections to services that are kept', () => {
      for (const instance of [...this.#kept.keys()]) this.#forget(instance);
    });
  }

  /** For one request that has its connection for itself. */
  alone(to: Owner): Agent {
    return new OwnerAgent(() => this.#connect(to));
  }

  /** For requests that share connections. They are given to it at once, or it may have been forgotten. */
  shared(to: Owner): Dispatcher {
    const { instance } = to;
    const pool = this.#kept.get(instance) ?? this.#pool(to);
    // The order says who goes first, which matters only where somebody has to.
    if (this.#kept.size >= MOST_KEPT) this.#kept.delete(instance);
    this.#kept.set(instance, pool);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MOST_KEPT) break;
      this.#forget(oldest);
    }
    return pool;
  }

  #pool(to: Owner): Pool {
    const pool = new Pool('http://service', {
      ...{ connections: null, pipelining: 1, allowH2: false, bodyTimeout: 0 },
      ...{ keepAliveTimeout: KEPT_MS, keepAliveMaxTimeout: KEPT_MS },
      connect: (_options, done) => {
        this.#connect(to).then(
          (socket) => done(null, socket),
          (error: unknown) => done(error as Error, null),
        );
      },
    });
    // What it keeps of connections that are gone would stay for as long as the service.
    pool.on('disconnect', () => {
      const { connected, size } = pool.stats;
      if (connected === 0 && size === 0 && this.#kept.get(to.instance) === pool) this.#forget(to.instance);
    });
    return pool;
  }

  /** One that is ready to be used. */
  async #connect({ address, instance }: Owner): Promise<Socket> {
    if (!this.owned.has(instance)) return hopTo(address, instance, await this.secret.get());
    const socket = this.owned.connect(instance);
    if (socket === undefined) throw new OwnerGone('its host has let go of it');
    await once(socket, 'connect');
    return socket;
  }

  /** What is being answered goes on; what is kept ends at once. */
  #forget(instance: string): void {
    const pool = this.#kept.get(instance);
    this.#kept.delete(instance);
    void pool?.close();
  }
}

/** Whether a request may share a connection with others. */
export function shares(method: string, headers: IncomingHttpHeaders): boolean {
  return (
    (method === 'GET' || method === 'HEAD') && headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0
  );
}
