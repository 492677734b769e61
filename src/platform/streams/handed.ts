import type { Socket } from 'node:net';

/** Bytes per millisecond (30 KB/s). A client that reads so much is not closed for reading slowly. */
export const STEADY_BYTES_MS = 30;
/** The largest send buffer of a connection, by Linux's default. */
export const MAX_HELD_BYTES = 4 << 20;

interface Handle {
  readonly bytesWritten: number;
  readonly writeQueueSize: number;
  /** The handle below TLS. */
  readonly _parent?: Handle;
}

/**
 * Bytes that the kernel has taken. `socket.bytesWritten - socket.writableLength` counts nothing of a long write until all of it is taken; Node's own
 * timeouts use the same source as this.
 */
export function handedBy(socket: Socket & { readonly _handle?: Handle | null }): number {
  const handle = socket._handle;
  if (handle?.bytesWritten === undefined) return socket.bytesWritten - socket.writableLength;
  return handle.bytesWritten - handle.writeQueueSize - (handle._parent?.writeQueueSize ?? 0);
}
