/** The bytes of Server-Sent Events. Every frame carries an id, heartbeats included, except the first ones of a snapshot of several. */

/** Milliseconds a client waits before it reconnects, spread so that a restart is not followed by a stampede. */
function retryHint(): number {
  return 500 + Math.floor(Math.random() * 1_500);
}

export function retryFrame(times = 1): string {
  return `retry: ${times * retryHint()}\n\n`;
}

export function frameText(id: string | undefined, event: string, data: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`;
}

/**
 * The bytes of what is kept for long, in memory of their own. `Buffer.from` gives a part of a block of 64 KB that all of the process share, and one
 * frame in a ring would keep the whole block: 2,400 frames held 61 MB.
 */
export function keptBytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

/** No event, so that no client is told of anything: it keeps the position for when it comes back. Without one it is a comment. */
export function placeFrame(id: string | undefined): string {
  return id === undefined ? ':\n\n' : `id: ${id}\n\n`;
}

/** A bookmark: no event, but the position up to which the client has everything. */
export function heartbeatFrame(id: string, now: Date): string {
  return frameText(id, 'heartbeat', `{"timestamp":"${now.toISOString().slice(0, 19)}Z"}`);
}
