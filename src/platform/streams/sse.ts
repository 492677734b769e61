/** The bytes of Server-Sent Events. Every frame carries an id, heartbeats included, except the first ones of a snapshot of several. */

/** Milliseconds a client waits before it reconnects, spread so that a restart is not followed by a stampede. */
export function retryHint(): number {
  return 500 + Math.floor(Math.random() * 1_500);
}

export function retryFrame(): string {
  return `retry: ${retryHint()}\n\n`;
}

export function frameText(id: string | undefined, event: string, data: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`;
}

/** A bookmark: no event, but the position up to which the client has everything. */
export function heartbeatFrame(id: string, now: Date): string {
  return frameText(id, 'heartbeat', `{"timestamp":"${now.toISOString().slice(0, 19)}Z"}`);
}
