import { ServerResponse, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/** A connection that its client wants to speak another protocol on from now on. */
export interface Upgrade {
  readonly socket: Socket;
  /** What came behind the head of the request already. */
  readonly head: Buffer;
}

interface Asking extends Upgrade {
  readonly response: ServerResponse;
}

const asking = new WeakMap<IncomingMessage, Asking>();

/** Has requests for another protocol go through the same front door as all others: a refusal is an answer like theirs. */
export function routeUpgrades(instance: FastifyInstance): void {
  instance.server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => socket.destroySoon());
    socket.on('error', () => socket.destroy());
    asking.set(request, { socket, head, response });
    instance.routing(request, response);
  });
}

export function wantsUpgrade({ raw }: FastifyRequest): boolean {
  return asking.has(raw);
}

/** The connection of a request that asks for another protocol. From now on it is the caller's, and no answer goes out on it. */
export function takeUpgrade({ raw }: FastifyRequest): Upgrade | undefined {
  const found = asking.get(raw);
  if (found === undefined) return undefined;
  asking.delete(raw);
  found.response.detachSocket(found.socket);
  return { socket: found.socket, head: found.head };
}
