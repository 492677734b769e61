import pg from 'pg';
import { adminAt } from './database.js';

/** What a transaction has locked, in the order in which it did: classes of locks, and not single rows. */
interface Sequence {
  readonly classes: readonly string[];
  /** Of these it takes only what is free: nobody is kept waiting by them. */
  readonly tried: ReadonlySet<string>;
  readonly sample: readonly string[];
}

interface Lock {
  readonly name: string;
  readonly at: number;
  readonly waits: boolean;
  readonly isNew: boolean;
}

/** Advisory classes by their first key. */
const ADVISORY: Readonly<Record<string, string>> = {
  1: 'stream',
  2: 'work',
  3: 'pools',
  4: 'directories',
  5: 'names',
  6: 'pools',
  7: 'rigs',
};
/**
 * Of one request alone, or part of something that is always locked before: of a session, a conversation, the work of a city, a stream. What
 * is part of the work is only where the work is locked.
 */
const PARTS =
  /^(audit_records|idempotency_\w+|session_(?!names)\w+|extmsg_(bindings|groups|memberships|participants|contexts|entries)|event_streams|events|event_drafts)$/;

/** Both ways, and nobody waits all the same. */
const KNOWN: readonly string[] = [
  // Whoever has names of a city makes an operation of a session that he has made; whoever ends a session has ended the operations of that one.
  'operations > session_names',
  // What is told of a new entry has a place that nobody else has, whose conversation is locked.
  'extmsg_deliveries > stream',
  // What is for a session is changed behind its row, what is for people outside behind the conversation's.
  'extmsg_conversations > extmsg_deliveries',
];

/** Says of all transactions of this process's clients which of them lock two classes in two orders: two of them may wait for each other. */
export class LockOrder {
  /** What was ended because two waited for each other: what for, and in which statements. */
  readonly deadlocks: string[] = [];
  readonly #orders = new Map<string, Sequence>();
  readonly #open = new WeakMap<object, { locks: Map<string, boolean>; made: Set<string>; sample: string[] }>();
  readonly #query = pg.Client.prototype.query as (...args: unknown[]) => unknown;

  /** @param functions of the database: the text of each by its name. They lock in the order of their text. */
  constructor(private readonly functions: ReadonlyMap<string, string>) {}

  /** All statements of this process from now on, until `stop`. */
  static async watch(url: string): Promise<LockOrder> {
    const rows = await adminAt<{ name: string; text: string }>(
      url,
      `select proname as name, string_agg(prosrc, ' ') as text from pg_proc where pronamespace = 'public'::regnamespace group by 1`,
    );
    const order = new LockOrder(new Map(rows.map(({ name, text }) => [name, text.replaceAll(/--.*$/gm, '')])));
    order.#watch();
    return order;
  }

  stop(): void {
    (pg.Client.prototype as { query: unknown }).query = this.#query;
  }

  /** Each with an example of both. */
  circles(): string[] {
    const pairs = new Map<string, Sequence[]>();
    for (const sequence of this.#orders.values())
      for (const [n, first] of sequence.classes.entries())
        for (const second of sequence.classes.slice(n + 1)) {
          if (sequence.tried.has(second)) continue;
          const key = `${first} > ${second}`;
          pairs.set(key, [...(pairs.get(key) ?? []), sequence]);
        }
    const found: string[] = [];
    for (const [key, ways] of pairs) {
      const [first, second] = key.split(' > ') as [string, string];
      const back = first < second && !KNOWN.includes(key) ? pairs.get(`${second} > ${first}`) : undefined;
      const two = ways.flatMap((one) =>
        (back ?? []).filter((other) => !haveBoth(one, other, [first, second])).map((other) => [one, other]),
      )[0];
      if (two !== undefined)
        found.push(
          `${key} and back:\n${two.map(({ classes, sample }) => `  ${classes.join(' > ')}\n    ${sample.join('\n    ')}`).join('\n')}`,
        );
    }
    return found;
  }

  #watch(): void {
    const query = this.#query;
    const note = (client: object, text: string): void => this.note(client, text);
    const failed = (error: unknown): void => this.#failed(error);
    (pg.Client.prototype as { query: unknown }).query = function (this: object, ...args: unknown[]) {
      const [given] = args;
      const text = typeof given === 'string' ? given : ((given as { text?: string } | undefined)?.text ?? '');
      note(this, text);
      const last = args.at(-1);
      if (typeof last === 'function')
        args[args.length - 1] = (error: unknown, ...rest: unknown[]): unknown => {
          failed(error);
          return last(error, ...rest) as unknown;
        };
      const result = query.apply(this, args);
      if (result instanceof Promise) result.catch(failed);
      return result;
    };
  }

  #failed(error: unknown): void {
    const { code, detail, where } = (error ?? {}) as pg.DatabaseError;
    if (code === '40P01') this.deadlocks.push(`${detail}\n${where}`);
  }

  /** A statement of a client, before it is sent. */
  note(client: object, text: string): void {
    if (/^\s*begin\b/i.test(text)) this.#open.set(client, { locks: new Map(), made: new Set(), sample: [] });
    const open = this.#open.get(client) ?? { locks: new Map<string, boolean>(), made: new Set<string>(), sample: [] };
    for (const { name, waits, isNew } of this.#locksOf(text, [])) {
      if (isNew) open.made.add(name);
      // Of what it has made itself it waits for nobody.
      if (isNew || open.locks.has(name) || open.made.has(name)) continue;
      open.locks.set(name, waits);
      open.sample.push(`${name}: ${text.replaceAll(/\s+/g, ' ').trim().slice(0, 160)}`);
    }
    const ends = /^\s*(commit|rollback)\b(?!\s+to\b)/i.test(text);
    if (this.#open.has(client) && !ends) return;
    this.#open.delete(client);
    const classes = [...open.locks.keys()];
    if (classes.length < 2) return;
    const tried = new Set([...open.locks].flatMap(([name, waits]) => (waits ? [] : [name])));
    this.#orders.set(classes.join(), { classes, tried, sample: open.sample });
  }

  #locksOf(text: string, within: readonly string[]): Lock[] {
    const found: Lock[] = [];
    const add = (name: string | undefined, at: number, waits = true, isNew = false): void => {
      if (name !== undefined && !PARTS.test(name)) found.push({ name, at, waits, isNew });
    };
    const rows = [...text.matchAll(/\bfor (?:no key )?update(?: of (\w+))?( skip locked)?/gi)].flatMap((m) =>
      lockedTables(text, m).map((name) => ({ name, at: m.index, isTried: m[2] !== undefined })),
    );
    const free = new Set(rows.flatMap(({ name, isTried }) => (isTried ? [name] : [])));
    for (const { name, at, isTried } of rows) add(name, at, !isTried);
    // A new row keeps nobody waiting, one that may be there already does.
    const inserts = [...text.matchAll(/\binsert into "?(\w+)/gi)];
    for (const [n, m] of inserts.entries()) add(m[1], m.index, true, !/\bon conflict\b/i.test(text.slice(m.index, inserts[n + 1]?.index)));
    for (const m of text.matchAll(/\bupdate "?(\w+)"?(?: as \w+| (?!set)\w+)? set\b|\bdelete from "?(\w+)/gi))
      add(m[1] ?? m[2], m.index, !free.has((m[1] ?? m[2])!));
    for (const m of text.matchAll(/\bpg_(try_)?advisory_xact_lock\((\d)/gi)) add(ADVISORY[m[2]!], m.index, m[1] === undefined);
    for (const m of text.matchAll(/\b(\w+)\s*\(/g)) {
      const body = within.includes(m[1]!) ? undefined : this.functions.get(m[1]!);
      if (body === undefined) continue;
      for (const { name, waits, isNew } of this.#locksOf(body, [...within, m[1]!])) add(name, m.index, waits, isNew);
    }
    return found.sort((a, b) => a.at - b.at);
  }
}

/** The tables of `for update`: by its alias, or all of its own query. */
function lockedTables(text: string, { index, 1: alias }: RegExpExecArray): string[] {
  let own = '';
  for (let at = index - 1, depth = 0; at >= 0 && depth >= 0; at--) {
    const char = text[at]!;
    if (char === ')') depth++;
    if (depth === 0) own = char + own;
    if (char === '(') depth--;
  }
  const tables = [...own.matchAll(/\b(?:from|join) "?([a-z_]\w*)"?(?: as)?(?: (?!where|join|on|left|cross|order|limit|for)(\w+))?/gi)];
  return tables.filter(([, name, short]) => alias === undefined || alias === short || alias === name).map(([, name]) => name!);
}

/** Whether what both have locked before keeps one from the other: all of the city, as its work, its pools or its names. */
function haveBoth(one: Sequence, other: Sequence, pair: readonly string[]): boolean {
  return ['work', 'pools', 'names'].some((gate) =>
    [one, other].every(({ classes }) => classes.includes(gate) && pair.every((name) => classes.indexOf(gate) < classes.indexOf(name))),
  );
}
