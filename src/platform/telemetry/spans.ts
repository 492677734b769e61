import { AsyncLocalStorage } from 'node:async_hooks';

/** What stands in a span: names, ids, counts and codes. Never a key, a query, a body, or what anybody has said. */
export type SpanFacts = Readonly<Record<string, string | number | boolean | undefined>>;

export interface SpanStart {
  readonly kind: 'server' | 'consumer' | 'internal';
  /** What it is a part of: a span of this process, or the `traceparent` of another; undefined begins a trace. */
  readonly parent: Span | string | undefined;
  readonly facts?: SpanFacts;
}

/** Work that takes time, as a trace has it. */
export interface Span {
  readonly traceId: string;
  /** By which others, in other processes, make their work a part of it. */
  readonly traceparent: string;
  /** What goes on from here is no part of it. */
  readonly over: boolean;
  add(facts: SpanFacts): void;
  /** Something has happened by now. */
  note(what: string): void;
  /** @param why a name or a code: messages may have in them what somebody has said */
  fail(why: string): void;
  end(): void;
}

/** Hears of spans. There is none where nobody has said where traces go to, and then this room costs a comparison. */
export interface SpanMaker {
  start(name: string, start: SpanStart): Span;
}

let maker: SpanMaker | undefined;
const spans = new AsyncLocalStorage<Span | undefined>();

/** From now on spans are made; with undefined none. For the whole process: rooms are asked in places where nobody has been given anything. */
export function makeSpansWith(given: SpanMaker | undefined): void {
  maker = given;
}

export function isTracing(): boolean {
  return maker !== undefined;
}

/** What this is a part of, if anybody wants to know. */
export function currentSpan(): Span | undefined {
  if (maker === undefined) return undefined;
  const span = spans.getStore();
  return span?.over === true ? undefined : span;
}

/** Begins a span that whoever has it ends; undefined where nobody wants to know. */
export function startSpan(name: string, start: SpanStart): Span | undefined {
  return maker?.start(name, start);
}

/** Runs `work`, and what it starts, as part of a span; with undefined as part of none: it goes on for others. */
export function within<T>(span: Span | undefined, work: () => T): T {
  return maker === undefined ? work() : spans.run(span, work);
}

/** Does work in a span of its own. */
export async function spanned<T>(name: string, start: SpanStart, work: (span: Span | undefined) => Promise<T>): Promise<T> {
  const span = maker?.start(name, start);
  if (span === undefined) return work(undefined);
  try {
    return await spans.run(span, () => work(span));
  } catch (error) {
    span.fail(nameOf(error));
    throw error;
  } finally {
    span.end();
  }
}

/** The same for what is worth telling only as part of something: what a process does by itself all the time is not. */
export function part<T>(name: string, facts: SpanFacts, work: () => Promise<T>): Promise<T> {
  const parent = currentSpan();
  return parent === undefined ? work() : spanned(name, { kind: 'internal', parent, facts }, work);
}

/** The code of a problem or of the database, else its class. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const { code, kind } = error as { code?: unknown; kind?: { code?: unknown } };
  if (typeof kind?.code === 'string') return kind.code;
  return typeof code === 'string' ? code : error.constructor.name;
}
