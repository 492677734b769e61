import type { Socket } from 'node:net';

/** A client that reads so much is not closed for reading slowly: 30 KB/s. */
export const STEADY_BYTES_MS = 30;
/** What Linux holds for a connection that is written to, unless it is told otherwise. */
export const MAX_HELD_BYTES = 4 << 20;

interface Handle {
  readonly bytesWritten: number;
  readonly writeQueueSize: number;
  /** Below TLS. */
  readonly _parent?: Handle;
}

/**
 * What the system has taken of all that was written. To the socket a long write counts as nothing until all of it is taken; Node's own timeouts look
 * here, too.
 */
export function handedBy(socket: Socket & { readonly _handle?: Handle | null }): number {
  const handle = socket._handle;
  if (handle?.bytesWritten === undefined) return socket.bytesWritten - socket.writableLength;
  return handle.bytesWritten - handle.writeQueueSize - (handle._parent?.writeQueueSize ?? 0);
}
