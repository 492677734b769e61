import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { appendFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ExtmsgTimings } from '../../src/modules/integrations/extmsg/extmsg-timings.js';
import { ExtmsgRetention } from '../../src/modules/integrations/extmsg/repair/retention.js';
import { loadConfig } from '../../src/platform/config/config.js';
import { startStack, type Stack, type StackOptions } from './app.js';
import { adminAt } from './database.js';
import { api, type Api, type Reply } from './http.js';
import { Ledger } from './ledger.js';
import { eventually } from './sse.js';

export { PublicationWatch } from '../../src/modules/integrations/extmsg/outbound/publication-watch.js';

/** What an adapter was sent. */
export interface Published {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: any;
}

type Behaviour = (published: Published, response: ServerResponse) => void;

const delivers: Behaviour = ({ body }, response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ message_id: `out-${body.idempotency_key as string}`, delivered: true, conversation: body.conversation }));
};

/** Adapters of this host may be called. */
export const ON_THIS_HOST = { allowedTargets: loadConfig({ SVC_ALLOWED_TARGETS: '127.0.0.1/32' }, '/').allowedTargets };

/** Something that speaks for an account elsewhere: it keeps what it was sent, and does as it is told. */
export class AdapterServer {
  readonly published: Published[] = [];
  /** What it does next with each; without one it delivers. */
  does: Behaviour = delivers;
  readonly #sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly protocol: 'http' | 'https',
  ) {}

  /** @param pair in PEM: it is reached over TLS then */
  static async open(pair?: { readonly key: Buffer; readonly cert: Buffer }): Promise<AdapterServer> {
    const server = pair === undefined ? createServer() : createSecureServer(pair);
    const adapter = new AdapterServer(server, pair === undefined ? 'http' : 'https');
    server.on('connection', (socket: Socket) => {
      adapter.#sockets.add(socket);
      socket.on('close', () => adapter.#sockets.delete(socket));
      socket.on('error', () => undefined);
    });
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const published = { path: request.url ?? '', headers: request.headers, text, body: JSON.parse(text) as unknown };
        adapter.published.push(published);
        adapter.does(published, response);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return adapter;
  }

  get url(): string {
    return `${this.protocol}://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  reset(): void {
    this.published.length = 0;
    this.does = delivers;
  }

  /** Of one conversation. */
  of(conversation: string): Published[] {
    return this.published.filter(({ body }) => body.conversation.conversation_id === conversation);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** A city with a configured name `mayor`, sessions of its own, two replicas, and workers unless it has none. */
export class ExtmsgCity {
  #made = 0;

  private constructor(
    readonly stack: Stack,
    readonly a: Api,
    readonly b: Api,
    readonly adapter: AdapterServer,
  ) {}

  static async open(options: StackOptions = {}): Promise<ExtmsgCity> {
    const adapter = await AdapterServer.open();
    const stack = await startStack({ workers: 2, ...options, config: { ...ON_THIS_HOST, ...options.config } });
    try {
      const [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
      const ledger = await Ledger.open(stack);
      await ledger.succeeded(await a.post('/v0/city', { dir: 'alpha', provider: 'loopback' }), 'request.result.city.create');
      await ledger.stream.close();
      const city = new ExtmsgCity(stack, a, b, adapter);
      await city.configure('[[extmsg.default_route]]\nprovider = "Routed"\nagent = "mayor"\n');
      return city;
    } catch (error) {
      await stack.stop();
      await adapter.close();
      throw error;
    }
  }

  path(rest: string): string {
    return `/v0/city/alpha/${rest}`;
  }

  ext(rest: string): string {
    return this.path(`extmsg/${rest}`);
  }

  async configure(toml: string): Promise<void> {
    const dir = join(this.stack.citiesRoot, 'alpha');
    await mkdir(dir, { recursive: true });
    await appendFile(join(dir, 'city.toml'), `\n${toml}`);
    const reloaded = await this.a.post(this.path('config/reload'));
    if (reloaded.status !== 200) throw new Error(reloaded.text);
  }

  /** How long adapters are waited for, and what is tried again, from now on. */
  timings(timings: Partial<ExtmsgTimings>): void {
    for (const { app } of this.stack.apps) Object.assign(app.get(ExtmsgTimings, { strict: false }), timings);
  }

  /** A conversation that nothing has been said in yet. */
  conversation(more: object = {}): Conversation {
    return {
      ...{ scope_id: 'alpha', provider: 'slack', account_id: 'default', conversation_id: `c-${++this.#made}`, kind: 'room' },
      ...more,
    } as Conversation;
  }

  /** A session with its own conversation with nobody. */
  async session(): Promise<string> {
    const reply = await this.a.post(this.path('sessions'), { kind: 'provider', name: 'loopback' });
    if (reply.status !== 202) throw new Error(reply.text);
    return reply.body.session_id as string;
  }

  inbound(conversation: Conversation, id: string, more: object = {}, at: Api = this.a): Promise<Reply> {
    const actor = { id: 'U1', display_name: 'Ann', is_bot: false };
    const message = { provider_message_id: id, conversation, actor, text: `text of ${id}`, received_at: '2026-01-01T00:00:00Z', ...more };
    return at.post(this.ext('inbound'), { message });
  }

  async register(more: object = {}): Promise<{ token: string; secret: string }> {
    const reply = await this.a.post(this.ext('adapters'), {
      ...{ provider: 'slack', account_id: 'default', callback_url: this.adapter.url },
      ...more,
    });
    if (reply.status !== 201) throw new Error(reply.text);
    return reply.body as { token: string; secret: string };
  }

  async events(type: string, conversation?: string): Promise<any[]> {
    const all = (await this.b.get(this.path(`events?after_seq=0&limit=1000&type=${type}`))).body.items as any[];
    return conversation === undefined ? all : all.filter(({ payload }) => payload.conversation_id === conversation);
  }

  /** What is on its way, or was, of one conversation; oldest first. */
  async deliveries(conversation: string, query = ''): Promise<any[]> {
    const { items } = (await this.b.get(this.ext(`deliveries?limit=1000${query}`))).body as { items: any[] };
    return items.filter((one) => one.conversation.conversation_id === conversation).reverse();
  }

  /** Once all that is on its way has come to an end. */
  settled(conversation: string, count: number): Promise<any[]> {
    return eventually(async () => {
      const all = await this.deliveries(conversation);
      return all.length >= count && all.every(({ state }) => state !== 'pending' && state !== 'queued') && all;
    });
  }

  /** The messages of a session, oldest first. */
  async messages(session: string): Promise<any[]> {
    return ((await this.b.get(this.path(`session/${session}/messages?limit=1000`))).body.items as any[]).reverse();
  }

  /** What workers do now and then: ends what is over, forgets what is old. */
  async sweep(): Promise<void> {
    const worker = this.stack.apps.find(({ config }) => config.role === 'worker')!;
    await worker.app.get(ExtmsgRetention, { strict: false }).pass();
  }

  sql<R extends object>(text: string, values: unknown[] = []): Promise<R[]> {
    return adminAt<R>(this.stack.databaseUrl, text, values);
  }

  async close(): Promise<void> {
    await this.stack.stop();
    await this.adapter.close();
  }
}

export interface Conversation {
  readonly scope_id: string;
  readonly provider: string;
  readonly account_id: string;
  readonly conversation_id: string;
  readonly parent_conversation_id?: string;
  readonly kind: 'dm' | 'room' | 'thread';
}

/** As a query. */
export const queryOf = (conversation: Conversation): string => new URLSearchParams({ ...conversation }).toString();
