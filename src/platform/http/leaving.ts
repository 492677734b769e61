import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Slots } from '../collections/slots.js';

/** Callbacks for the end of a connection. They share one listener, since a client may send many requests at once. */
const WAITING = Symbol('waiting');
type Watched = Socket & { [WAITING]?: Slots<() => void> };

const NOTHING = (): void => undefined;

/** Whether the client has left. Code that has waited, for a key or for the database, has to ask: the event comes only once. */
export function hasLeft(response: ServerResponse): boolean {
  return response.destroyed || response.req.socket.destroyed;
}

/** Calls back when the connection ends; at once when it has ended. Returns how to cancel that. */
export function whenDisconnected(socket: Watched, then: () => void): () => void {
  if (socket.destroyed) {
    then();
    return NOTHING;
  }
  let waiting = socket[WAITING];
  if (waiting === undefined) {
    const all = (socket[WAITING] = waiting = new Slots<() => void>());
    socket.once('close', () => {
      for (const one of [...all]) one();
    });
  }
  const place = waiting.add(then);
  let waits = true;
  return () => {
    if (waits) waiting.remove(place);
    waits = false;
  };
}

/**
 * Calls back once, when the answer was sent or the client has left; at once when that has happened. An answer that waits for the one
 * before it on its connection has no `close` of its own (Node 20), so the end of the connection counts as well. Returns how to cancel that.
 */
export function whenGone(response: ServerResponse, then: () => void): () => void {
  if (hasLeft(response)) {
    then();
    return NOTHING;
  }
  const gone = (): void => {
    forget();
    then();
  };
  const closed = whenDisconnected(response.req.socket, gone);
  const forget = (): void => {
    closed();
    response.removeListener('close', gone);
  };
  response.once('close', gone);
  return forget;
}
