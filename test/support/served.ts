import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { connect, type Socket } from 'node:net';
import type { Stack } from './app.js';
import { api, type Api } from './http.js';
import type { Ledger } from './ledger.js';
import { SERVICE_PROGRAM } from './service-program.js';
import { eventually } from './sse.js';

export const COMMAND = `command = ["/bin/sh", "-c", "exec \\"$SVC_NODE\\" board.mjs"]`;

/** A city that serves something. */
export class Served {
  readonly #api: Api;

  private constructor(
    readonly stack: Stack,
    readonly city: string,
    url: string,
    headers: Record<string, string>,
  ) {
    this.#api = api(url, headers);
  }

  /** Makes a city whose `city.toml` goes on with these tables. */
  static async make(stack: Stack, ledger: Ledger, city: string, tables: string, url = stack.urls[0]!, headers = {}): Promise<Served> {
    const served = new Served(stack, city, url, headers);
    await ledger.succeeded(await served.#api.post('/v0/city', { dir: city, provider: 'loopback' }), 'request.result.city.create');
    await served.write('board.mjs', SERVICE_PROGRAM);
    await served.say(tables);
    return served;
  }

  file(at: string): string {
    return join(this.stack.citiesRoot, this.city, at);
  }

  async write(at: string, content: string): Promise<void> {
    await mkdir(dirname(this.file(at)), { recursive: true });
    await writeFile(this.file(at), content);
  }

  /** Replaces what the city's file says of services. */
  async say(tables: string): Promise<void> {
    const before = await readFile(this.file('city.toml'), 'utf8');
    await writeFile(this.file('city.toml'), `${before.split('# services')[0]!}# services\n${tables}`);
    const reply = await this.#api.post(`/v0/city/${this.city}/config/reload`);
    if (reply.status !== 200) throw new Error(reply.text);
  }

  async status(name: string): Promise<any> {
    return (await this.#api.get(`/v0/city/${this.city}/service/${name}`)).body;
  }

  /** Once it is as it is wanted: by default ready. */
  async until(name: string, fits: (status: any) => boolean = ({ state }) => state === 'ready'): Promise<any> {
    let last: any;
    return eventually(async () => {
      last = await this.status(name);
      return fits(last) && last;
    }).catch(() => {
      throw new Error(`${name} has not become as it should: ${JSON.stringify(last)}`);
    });
  }
}

/** What comes on a connection, as it comes. */
export class Wire {
  #text = '';
  #bytes = 0;
  ended = false;

  private constructor(readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) => {
      this.#bytes += chunk.length;
      if (this.#text.length < 1_000_000) this.#text += chunk.toString('latin1');
    });
    socket.on('error', () => undefined);
    socket.on('close', () => (this.ended = true));
    socket.on('end', () => (this.ended = true));
  }

  /** Says something to a server, as it is. */
  static async say(url: string, text: string | Buffer): Promise<Wire> {
    const { hostname, port } = new URL(url);
    const wire = new Wire(connect(Number(port), hostname));
    wire.socket.write(text);
    return Promise.resolve(wire);
  }

  get text(): string {
    return this.#text;
  }

  get bytes(): number {
    return this.#bytes;
  }

  async until(fits: (text: string, wire: Wire) => boolean): Promise<string> {
    await eventually(() => Promise.resolve(fits(this.#text, this))).catch(() => {
      throw new Error(`came: ${this.#text.slice(0, 2_000)}`);
    });
    return this.#text;
  }

  close(): void {
    this.socket.destroy();
  }
}

/** Sends bytes as they are, and reads until the server closes, which it is asked to: nothing is closed from here before. */
export async function rawly(url: string, text: string): Promise<{ status: number; head: string; text: string }> {
  const wire = await Wire.say(url, text);
  const all = await wire.until((_text, { ended }) => ended);
  wire.close();
  const end = all.indexOf('\r\n\r\n');
  return {
    status: Number(/^HTTP\/1\.1 (\d{3})/.exec(all)?.[1] ?? 0),
    head: all.slice(0, end),
    text: unchunked(all.slice(0, end), all.slice(end + 4)),
  };
}

function unchunked(head: string, body: string): string {
  if (!/transfer-encoding: chunked/i.test(head)) return body;
  let text = '';
  for (let rest = body; ;) {
    const [line = ''] = rest.split('\r\n', 1);
    const length = parseInt(line, 16);
    if (!(length > 0)) return text;
    text += rest.slice(line.length + 2, line.length + 2 + length);
    rest = rest.slice(line.length + 4 + length);
  }
}

export const upgradeRequest = (path: string, more: readonly string[] = []): string =>
  [
    `GET ${path} HTTP/1.1`,
    'Host: localhost',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    'Sec-WebSocket-Version: 13',
    ...more,
    '',
    '',
  ].join('\r\n');
