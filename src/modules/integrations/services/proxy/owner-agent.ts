import { Agent, type AgentOptions, type IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { Lifecycle } from '../../../../platform/health/lifecycle.js';
import { hopTo, OwnerGone } from '../hop.js';
import { HopSecret } from '../hop-secret.js';
import { OwnedSockets } from '../owned-sockets.js';

/** Longer than between two requests of many, and shorter than anything that a service waits for the next one. */
const KEPT_MS = 500;
const KEPT: AgentOptions = { keepAlive: true, timeout: KEPT_MS, maxFreeSockets: 64, scheduling: 'lifo' };
/** Services with connections that are kept. */
const MOST_KEPT = 256;

/** Connections to the process of a service, wherever that is. */
class OwnerAgent extends Agent {
  constructor(
    private readonly connect: () => Promise<Socket>,
    options: AgentOptions,
  ) {
    super(options);
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
  readonly #kept = new Map<string, OwnerAgent>();

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

  agentFor(to: { readonly address: string; readonly instance: string }, shares: boolean): Agent {
    if (!shares) return this.#agent(to, { keepAlive: false });
    const { instance } = to;
    const agent = this.#kept.get(instance) ?? this.#agent(to, KEPT);
    // The order says who goes first, which matters only where somebody has to.
    if (this.#kept.size === MOST_KEPT) this.#kept.delete(instance);
    this.#kept.set(instance, agent);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MOST_KEPT) break;
      this.#forget(oldest);
    }
    return agent;
  }

  #agent({ address, instance }: { readonly address: string; readonly instance: string }, options: AgentOptions): OwnerAgent {
    return new OwnerAgent(async () => {
      if (!this.owned.has(instance)) return hopTo(address, instance, await this.secret.get());
      const socket = this.owned.connect(instance);
      if (socket === undefined) throw new OwnerGone('its host has let go of it');
      return socket;
    }, options);
  }

  /** What is being answered goes on. */
  #forget(instance: string): void {
    const agent = this.#kept.get(instance);
    this.#kept.delete(instance);
    for (const socket of Object.values(agent?.freeSockets ?? {}).flat()) socket?.destroy();
    // Whatever is given back to it later is kept no more.
    if (agent !== undefined) agent.maxFreeSockets = 0;
  }
}

/** Whether a request may share a connection with others. */
export function shares(method: string, headers: IncomingHttpHeaders): boolean {
  return (
    (method === 'GET' || method === 'HEAD') && headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0
  );
}
