import type { Readable } from 'node:stream';

const AT_ONCE = 512 * 1024;
/** Somebody who writes byte by byte wakes its reader for each of them; what gathers in a pause comes as one piece. */
const PIECES_AT_ONCE = 16;
const PAUSE_MS = 50;

/**
 * Reads an output to its end, in steps with a pause after each: whoever writes without end waits for its reader, and does not have the process
 * of that to itself.
 */
export function readSteadily(output: Readable, take: (chunk: Buffer) => void, pauseMs = PAUSE_MS): void {
  let read = 0;
  let pieces = 0;
  output.on('data', (chunk: Buffer) => {
    take(chunk);
    read += chunk.length;
    if (read < AT_ONCE && ++pieces < PIECES_AT_ONCE) return;
    read = 0;
    pieces = 0;
    output.pause();
    setTimeout(() => output.resume(), pauseMs);
  });
}
