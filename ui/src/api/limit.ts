/** What a read may take: a replica that stands still goes on to accept connections, and whoever wants it meanwhile waits for this one. */
export const READ_MS = 30_000;

export interface Limit {
  /** Ends the request: undefined where nothing does. */
  readonly signal: AbortSignal | undefined;
  /** Whether the time is over, and not somebody's patience. */
  readonly isOver: () => boolean;
}

/** Why a request has no answer, or not all of it. */
export function whyNone({ isOver }: Limit, begun: boolean): string {
  if (isOver()) return `the service has not ${begun ? 'ended its answer' : 'answered'} for ${READ_MS / 1000} s`;
  return begun ? 'the connection was lost before all of the answer had come' : 'the service cannot be reached';
}

/** What ends a request: whoever asks, and the time of a read. A change may go on at the service, however long it takes to say so. */
export function limitOf(method: string, signal?: AbortSignal, readMs = READ_MS): Limit {
  const time = method === 'GET' ? AbortSignal.timeout(readMs) : undefined;
  const ends = [signal, time].filter((one) => one !== undefined);
  return {
    signal: ends.length === 0 ? undefined : AbortSignal.any(ends),
    isOver: () => time?.aborted === true && signal?.aborted !== true,
  };
}
