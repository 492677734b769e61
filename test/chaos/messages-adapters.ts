import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { AdapterCall, MessagesHistory } from './messages-history.js';
import type { Random } from './random.js';

interface Asked {
  readonly session_id: string;
  readonly conversation: { readonly conversation_id: string };
  readonly text: string;
  readonly idempotency_key: string;
}

/** What an adapter does with a call; '' when nobody can know what has come of it. */
type Manner = (adapter: Adapter, asked: Asked, response: ServerResponse) => AdapterCall['said'];
type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** After so many calls for one publication it goes well: what has to end does so within the run. */
const PATIENCE = 3;
const SLOW_MS = 4_000;

const json = (response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): void =>
  void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
const taken = ({ idempotency_key: key, conversation }: Asked): object => ({ message_id: `out-${key}`, delivered: true, conversation });

const takes: Manner = (_adapter, asked, response) => (json(response, 200, taken(asked)), 'taken');
/** A byte at a time. */
const drips: Manner = (adapter, asked, response) => {
  const text = JSON.stringify(taken(asked));
  let at = 0;
  const timer = setInterval(() => {
    response.write(text.slice(at, (at += 20)));
    if (at < text.length) return;
    clearInterval(timer);
    response.end();
  }, 60);
  response.on('close', () => clearInterval(timer));
  adapter.ended(() => at >= text.length || response.destroyed || response.end(text.slice(at)));
  return 'taken';
};
/** Says nothing for long, then hangs up. */
const hangs: Manner = (adapter, _asked, response) => {
  const timer = setTimeout(() => response.destroy(), adapter.random.int(500, SLOW_MS));
  adapter.ended(() => (clearTimeout(timer), response.destroy()));
  return '';
};
const hangsUp: Manner = (_adapter, _asked, response) => (response.destroy(), '');
const fails: Manner = ({ random }, _asked, response) => (json(response, random.pick([500, 502, 503]), { error: 'not now' }), 'later');
const babbles: Manner = (_adapter, _asked, response) => (void response.writeHead(200).end('<html>ok</html>'), '');
const busy: Manner = ({ random }, _asked, response) => {
  if (random.chance(0.5)) json(response, 429, {}, { 'retry-after': '1' });
  else json(response, 200, { delivered: false, failure_kind: 'rate_limited', retry_after: random.int(1, 900) * 1_000_000 });
  return 'later';
};
const redirects: Manner = (adapter, _asked, response) => (json(response, 307, {}, { location: `${adapter.url}/publish` }), 'refused');
const refuses: Manner = ({ random }, _asked, response) => (
  json(response, random.pick([400, 401, 404, 413]), { error: 'never' }),
  'refused'
);

const MANNERS: Readonly<Record<string, readonly Manner[]>> = {
  steady: [takes],
  slow: [takes, takes, drips, drips, hangs],
  failing: [takes, fails, busy, babbles, hangsUp],
  strict: [takes, takes, takes, redirects, refuses],
};
export const ACCOUNTS = Object.keys(MANNERS);

/** Speaks for one account elsewhere, more or less well. */
export class Adapter {
  token = '';
  readonly #sockets = new Set<Socket>();
  readonly #calls = new Map<string, number>();
  /** What it has taken it has taken, however often it is asked. */
  readonly #taken = new Set<string>();
  readonly #endings: (() => unknown)[] = [];
  #settled = false;

  private constructor(
    private readonly server: Server,
    readonly account: string,
    readonly random: Random,
    private readonly history: MessagesHistory,
    private readonly now: () => number,
    private readonly echo: (asked: Asked) => void,
  ) {}

  static async open(
    account: string,
    random: Random,
    history: MessagesHistory,
    now: () => number,
    echo: (asked: Asked) => void,
  ): Promise<Adapter> {
    const server = createServer();
    const adapter = new Adapter(server, account, random, history, now, echo);
    server.on('connection', (socket) => {
      adapter.#sockets.add(socket.on('error', () => undefined).once('close', () => adapter.#sockets.delete(socket)));
    });
    server.on('request', (request, response) => void adapter.#answer(request, response).catch(() => response.destroy()));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return adapter;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Done when the harm is over, so that nobody waits for what only hangs. */
  ended(ending: () => unknown): void {
    if (this.#settled) ending();
    else this.#endings.push(ending);
  }

  /** From now on it takes everything. */
  settle(): void {
    this.#settled = true;
    for (const ending of this.#endings) ending();
  }

  async close(): Promise<void> {
    this.settle();
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const asked = JSON.parse(Buffer.concat(chunks).toString()) as Asked;
    const { session_id: session, conversation, text, idempotency_key: key } = asked;
    const before = this.#calls.get(key) ?? 0;
    this.#calls.set(key, before + 1);
    const call: Writable<AdapterCall> = {
      ...{ at: this.now(), adapter: this.account, conversation: conversation.conversation_id, session, text, key, said: '' },
    };
    this.history.calls.push(call);
    const willing = this.#settled || before >= PATIENCE || this.#taken.has(key);
    call.said = (willing ? takes : this.random.pick(MANNERS[this.account]!))(this, asked, response);
    if (call.said === 'taken') this.#taken.add(key);
    if (call.said === 'taken' && !this.#settled && this.random.chance(0.15)) this.echo(asked);
  }
}
