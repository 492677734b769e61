import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { Semaphore } from '../turns/semaphore.js';

/** How the body of an answer may be compressed; what makes it smallest comes first. */
export const ENCODINGS = ['br', 'gzip'] as const;
export type Encoding = (typeof ENCODINGS)[number];

/** Nobody has more to say, and whoever does is not worth reading. */
const LONGEST_HEADER = 1_000;
/** At once: of the threads of libuv there are more, for disks that do not answer, and whoever compresses takes the processor from the event loop. */
const turns = new Semaphore(4);
const zip = promisify(gzip);
const brotli = promisify(brotliCompress);

/** The first of these that an `Accept-Encoding` takes. Who names none of them gets the body as it is. */
export function acceptedEncoding(header: string | undefined, offered: readonly Encoding[] = ENCODINGS): Encoding | undefined {
  if (header === undefined || header.length > LONGEST_HEADER) return undefined;
  const taken = new Set(
    header
      .toLowerCase()
      .split(',')
      .filter((part) => !/;\s*q=0(\.0*)?\s*$/.test(part))
      .map((part) => part.split(';', 1)[0]!.trim()),
  );
  return offered.find((encoding) => taken.has(encoding));
}

/** Compresses on a thread of libuv. */
export async function encoded(encoding: Encoding, plain: Buffer, level: number): Promise<Buffer> {
  const leave = await turns.enter();
  try {
    if (encoding === 'gzip') return await zip(plain, { level });
    return await brotli(plain, {
      params: { [constants.BROTLI_PARAM_QUALITY]: level, [constants.BROTLI_PARAM_SIZE_HINT]: plain.length },
    });
  } finally {
    leave();
  }
}
