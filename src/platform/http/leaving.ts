import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Slots } from '../collections/slots.js';

/** Who waits for the end of a connection. It has one listener for all of them: a client may send many requests at once. */
const WAITING = Symbol('waiting');
type Watched = Socket & { [WAITING]?: Slots<() => void> };

const NOTHING = (): void => undefined;

/** Whether whoever asked has left. What waited for a key or for the database cannot know: the event that tells it comes once. */
export function hasLeft(response: ServerResponse): boolean {
  return response.destroyed || response.req.socket.destroyed;
}

/** Calls back when the connection ends; at once where it has ended. Answers how to wait no longer. */
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
 * Calls back once, when the answer has gone or whoever asked has left; at once where that has happened. An answer that waits for the one
 * before it on its connection has no `close` of its own (Node 20), so the connection counts as well. Answers how to wait no longer.
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
