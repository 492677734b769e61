import type { AnyMessage, Stream } from '@agentclientprotocol/sdk';
import type { Readable, Writable } from 'node:stream';
import { MAX_UNANSWERED } from '../limits.js';
import { MAX_DEPTH, MAX_MEMBERS, measured, MEMBER_BYTES } from './measure.js';

const MAX_LINE_BYTES = 8 * 1024 * 1024;
/** In a row, without one message between them. */
const MAX_BAD_LINES = 100;
const MAX_BAD_BYTES = 4 * MAX_LINE_BYTES;

/** Characters of what is no protocol, for people. */
const MAX_GARBAGE = 1_000;
/** JSON-RPC: an invalid request. */
const INVALID = -32_600;
const TOO_DEEP = `it is nested more than ${MAX_DEPTH} levels deep`;
const TOO_MANY = `it has more than ${MAX_MEMBERS} members`;
/** Only clients ask this. */
const FIRST = 'initialize';

export class Garbage extends Error {}

/** One JSON-RPC message of the agent, and about how much memory it holds. */
export type Look = (message: Record<string, unknown>, bytes: number) => boolean | Promise<boolean>;

/**
 * The two pipes of a process as a stream of messages. A line that is none, or holds too much, is left out and counted; an output that has
 * nothing else in it ends the stream with an error. Nothing is read ahead of who reads.
 *
 * @param look sees every message first, in the order of the wire, and keeps those for which it answers true.
 */
export class Wire {
  badLines = 0;
  /** The agent has said something that is the protocol. */
  hasSpoken = false;
  #garbage = '';
  /** Of a line that has not ended. */
  #begun: readonly Buffer[] = [];
  readonly #asked = new Set<unknown>();
  /** What the agent has asked, until the answer is in its input. */
  #unanswered = 0;
  #ended!: (error: Error | undefined) => void;
  /** When the agent's output has ended, with what was wrong with it. */
  readonly ended = new Promise<Error | undefined>((resolve) => (this.#ended = resolve));
  readonly stream: Stream;
  /** Bytes read so far: tells a quiet output from one that is still coming. */
  bytes = 0;

  constructor(
    stdout: Readable,
    private readonly stdin: Writable,
    private readonly look: Look,
  ) {
    const messages = this.#messages(stdout);
    this.stream = {
      readable: new ReadableStream<AnyMessage>(
        {
          pull: async (controller) => {
            const { value, done } = await messages.next();
            if (done === true) controller.close();
            else controller.enqueue(value);
          },
          cancel: () => void messages.return().catch(() => undefined),
        },
        { highWaterMark: 0 },
      ),
      writable: new WritableStream<AnyMessage>({ write: (message) => this.#write(message) }),
    };
  }

  async #write(message: AnyMessage): Promise<void> {
    if ('method' in message && 'id' in message) this.#asked.add(message.id);
    const line = `${JSON.stringify(message)}
`;
    // Also called when the process has gone: its exit says so better than a broken pipe.
    await new Promise<void>((resolve) => this.stdin.write(line, () => resolve()));
    if (!('method' in message)) this.#unanswered--;
  }

  async *#messages(stdout: Readable): AsyncGenerator<AnyMessage, void, undefined> {
    try {
      for await (const line of this.#lines(stdout)) {
        const { message, tooMuch, bytes } = parse(line);
        // Answers to what nobody asked are not for the library: it would print each of them.
        // A program that repeats its input sends requests back that only we make.
        const isEcho = message !== undefined && !this.hasSpoken && message.method === FIRST;
        if (message === undefined || isEcho || (!('method' in message) && !this.#asked.delete(message.id))) {
          if (!this.hasSpoken) this.#keep(line);
          this.#bad(line.length);
          if (isEcho) throw new Garbage('it repeats what it is told');
          continue;
        }
        if (tooMuch !== undefined) {
          this.#bad(line.length);
          const refusal = await this.#refuse(message, tooMuch);
          if (refusal !== undefined) yield refusal;
          continue;
        }
        this.hasSpoken = true;
        this.#badInRow = this.#badBytes = 0;
        if (await this.look(message, bytes)) continue;
        if ('method' in message && 'id' in message) this.#owe();
        yield message as AnyMessage;
      }
      this.#ended(undefined);
    } catch (error) {
      this.#ended(error as Error);
      throw error;
    } finally {
      this.#ended(undefined);
    }
  }

  #owe(): void {
    if (++this.#unanswered > MAX_UNANSWERED) throw new Garbage('it reads no answers');
  }

  /** Nobody waits for ever: a request is refused, and an answer, which is returned, becomes one that refuses. */
  async #refuse({ id, method }: Message, why: string): Promise<AnyMessage | undefined> {
    if (typeof id !== 'string' && typeof id !== 'number') return undefined;
    const refusal: AnyMessage = { jsonrpc: '2.0', id, error: { code: INVALID, message: why } };
    if (method === undefined) return refusal;
    this.#owe();
    await this.#write(refusal);
    return undefined;
  }

  /** The beginning of what it has said instead of the protocol, also of a line that has not ended: a question, say. */
  get garbage(): string {
    const begun = this.hasSpoken || this.#garbage.length >= MAX_GARBAGE ? [] : this.#begun.slice(0, MAX_GARBAGE);
    return this.#garbage + Buffer.concat(begun).toString('utf8', 0, MAX_GARBAGE);
  }

  #keep(line: Buffer): void {
    if (this.#garbage.length < MAX_GARBAGE) this.#garbage += `${line.toString('utf8', 0, MAX_GARBAGE)}\n`;
  }

  #badInRow = 0;
  #badBytes = 0;

  #bad(bytes: number): void {
    this.badLines++;
    this.#badInRow++;
    this.#badBytes += bytes;
    if (this.#badInRow > MAX_BAD_LINES || this.#badBytes > MAX_BAD_BYTES) throw new Garbage('its output is not the protocol');
  }

  async *#lines(stdout: Readable): AsyncGenerator<Buffer, void, undefined> {
    let parts: Buffer[] = [];
    let length = 0;
    const add = (part: Buffer): void => {
      length += part.length;
      if (length <= MAX_LINE_BYTES) parts.push(part);
      // Too long to keep; what is left of it is only counted.
      else if (parts.length > 0) parts = [];
      if (length > MAX_BAD_BYTES) throw new Garbage('its output has no lines');
    };
    for await (const chunk of stdout as AsyncIterable<Buffer>) {
      this.bytes += chunk.length;
      let start = 0;
      for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, start)) {
        add(chunk.subarray(start, end));
        if (length > MAX_LINE_BYTES) this.#bad(length);
        else if (length > 0) yield Buffer.concat(parts, length);
        [parts, length, start] = [[], 0, end + 1];
      }
      if (start < chunk.length) add(chunk.subarray(start));
      this.#begun = parts;
    }
    this.#begun = [];
    if (length > 0 && length <= MAX_LINE_BYTES) yield Buffer.concat(parts, length);
  }
}

type Message = Record<string, unknown> & { id?: unknown };

interface Parsed {
  /** Of one that holds too much, only what is its own. */
  readonly message: Message | undefined;
  readonly tooMuch: string | undefined;
  /** About how much memory it takes. */
  readonly bytes: number;
}

const NONE: Parsed = { message: undefined, tooMuch: undefined, bytes: 0 };

function parse(line: Buffer): Parsed {
  // Most of what is no message does not even begin like one.
  if (line[0] !== 0x7b && line.toString('utf8').trimStart()[0] !== '{') return NONE;
  const { depth, members, head } = measured(line);
  const tooMuch = depth > MAX_DEPTH ? TOO_DEEP : members > MAX_MEMBERS ? TOO_MANY : undefined;
  const text = tooMuch === undefined ? line.toString('utf8') : head();
  return { message: read(text), tooMuch, bytes: line.length + members * MEMBER_BYTES };
}

function read(text = ''): Message | undefined {
  try {
    const message = JSON.parse(text) as Message;
    return message.jsonrpc === '2.0' && (typeof message.method === 'string' || 'id' in message) ? message : undefined;
  } catch {
    return undefined;
  }
}
