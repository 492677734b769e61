import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';
import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../../platform/config/config.js';
import { serversOf } from '../../../platform/database/servers.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { OwnedSockets } from './owned-sockets.js';
import { HopSecret } from './hop-secret.js';

/**
 * How one process of a deployment reaches a service that another one has: a connection to where the owner listens, on which the owner
 * says a word of its own, the caller which instance is meant, a word of its own and a proof to know the deployment's secret, and the owner
 * proves the same. Then come the bytes of the service, in both directions. A proof is good for this connection only: whoever hears one on
 * the network can do nothing with it, and whoever has taken an owner's address is told nothing.
 */
const HELLO_MS = 5_000;
const LONGEST_HELLO = 256;
/** Callers that have not said yet who they are. */
const MAX_STRANGERS = 256;
/** A host that has vanished is noticed after this, and ten seconds. */
const ALIVE_MS = 10_000;
const WORD_BYTES = 16;

/** What both sides have said on one connection. */
export interface Words {
  readonly instance: string;
  readonly owner: string;
  readonly caller: string;
}

/** Proves that one side knows the secret, on one connection only; the secret itself stays at home. */
export function proofOf(secret: Buffer, side: 'owner' | 'caller', { instance, owner, caller }: Words): string {
  return createHmac('sha256', secret).update(`service hop: ${side} ${instance} ${owner} ${caller}`).digest('base64url');
}

const newWord = (): string => randomBytes(WORD_BYTES).toString('base64url');

/** Takes connections for services that are in this process's care. */
@Injectable()
export class HopListener {
  readonly #open = new Set<Socket>();
  #listening: Promise<{ server: Server; address: string }> | undefined;
  #strangers = 0;

  constructor(
    private readonly config: AppConfig,
    private readonly owned: OwnedSockets,
    private readonly secret: HopSecret,
    lifecycle: Lifecycle,
  ) {
    lifecycle.onStop('background', 'connections to services', () => this.#close());
  }

  /** Where others reach this process, `host:port`. Listens from the first time on that somebody asks. */
  async address(): Promise<string> {
    this.#listening ??= this.#listen().catch((error: unknown) => {
      this.#listening = undefined;
      throw error;
    });
    return (await this.#listening).address;
  }

  async #listen(): Promise<{ server: Server; address: string }> {
    const host = await ownAddress(this.config.databaseUrl!);
    const secret = await this.secret.get();
    const server = createServer({ noDelay: true }, (caller) => this.#greet(caller, secret));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ port: 0, host, exclusive: true }, resolve);
    });
    const { port } = server.address() as AddressInfo;
    return { server, address: `${host.includes(':') ? `[${host}]` : host}:${port}` };
  }

  #greet(caller: Socket, secret: Buffer): void {
    this.#open.add(caller.once('close', () => this.#open.delete(caller)));
    caller.on('error', () => caller.destroy());
    if (++this.#strangers > MAX_STRANGERS) caller.destroy();
    let said = Buffer.alloc(0);
    const owner = newWord();
    caller.write(`${owner}\n`);
    const known = (): void => {
      clearTimeout(limit);
      this.#strangers--;
      caller.off('data', read).off('close', known);
    };
    const limit = setTimeout(() => caller.destroy(), HELLO_MS);
    const read = (chunk: Buffer): void => {
      said = Buffer.concat([said, chunk]);
      const end = said.indexOf('\n');
      if (end === -1 && said.length <= LONGEST_HELLO) return;
      caller.pause();
      known();
      const [instance = '', word = '', proof = ''] = said.toString('latin1', 0, Math.max(end, 0)).split(' ');
      const words = { instance, owner, caller: word };
      // Who is not known is told nothing, whatever they asked for.
      if (end > LONGEST_HELLO || !isEqual(proof, proofOf(secret, 'caller', words))) return void caller.destroy();
      this.#join(caller, instance, proofOf(secret, 'owner', words), said.subarray(end + 1));
    };
    caller.on('data', read).once('close', known);
  }

  #join(caller: Socket, instance: string, proof: string, first: Buffer): void {
    const service = this.owned.connect(instance);
    if (service === undefined) return void caller.end('-\n');
    caller.setKeepAlive(true, ALIVE_MS);
    service.on('error', () => caller.destroy());
    service.once('close', () => caller.destroySoon());
    caller.once('close', () => service.destroy());
    service.once('connect', () => {
      caller.write(`+${proof}\n`);
      if (first.length > 0) service.write(first);
      caller.pipe(service);
      service.pipe(caller);
    });
  }

  async #close(): Promise<void> {
    const listening = await this.#listening?.catch(() => undefined);
    if (listening === undefined) return;
    const closed = new Promise<void>((resolve) => listening.server.close(() => resolve()));
    for (const socket of this.#open) socket.destroy();
    await closed;
  }
}

/** The owner does not have the instance any more, is not there, or is not the owner. */
export class OwnerGone extends Error {}

/** A connection to an instance at its owner; one that is ready to be used. @throws OwnerGone */
export function hopTo(address: string, instance: string, secret: Buffer, limitMs = HELLO_MS): Promise<Socket> {
  const at = address.lastIndexOf(':');
  const host = address.slice(0, at).replace(/^\[|]$/g, '');
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: Number(address.slice(at + 1)), noDelay: true });
    const failed = (why: string): void => {
      clearTimeout(limit);
      socket.destroy();
      reject(new OwnerGone(why));
    };
    const limit = setTimeout(() => failed('its host does not answer'), limitMs);
    const error = ({ code }: NodeJS.ErrnoException): void => failed(`its host cannot be reached (${code ?? 'error'})`);
    const closed = (): void => failed('its host has let go of it');
    let said = '';
    let words: Words | undefined;
    const read = (chunk: Buffer): void => {
      said += chunk.toString('latin1');
      if (said.length > LONGEST_HELLO) return closed();
      if (!said.endsWith('\n')) return;
      // Nobody says more than a line before the other has answered.
      const line = said.slice(0, -1);
      said = '';
      if (words === undefined) {
        words = { instance, owner: line, caller: newWord() };
        return void socket.write(`${instance} ${words.caller} ${proofOf(secret, 'caller', words)}\n`);
      }
      if (!isEqual(line, `+${proofOf(secret, 'owner', words)}`)) return closed();
      clearTimeout(limit);
      socket.off('data', read).off('error', error).off('close', closed).off('end', closed);
      socket.setKeepAlive(true, ALIVE_MS);
      // It goes on to flow: a client of HTTP takes what comes, and does not ask for it.
      resolve(socket);
    };
    socket.on('data', read).once('error', error).once('close', closed).once('end', closed);
  });
}

/** The address that this host has towards the database, which every process of the deployment reaches: whatever network that is in. */
async function ownAddress(databaseUrl: string): Promise<string> {
  const url = new URL(await serversOf(databaseUrl).current());
  const host = decodeURIComponent(url.hostname).replace(/^\[|]$/g, '') || url.searchParams.get('host') || '127.0.0.1';
  // A socket of this host: so are all the others.
  if (host.startsWith('/')) return '127.0.0.1';
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: Number(url.port || 5432) });
    const limit = setTimeout(() => socket.destroy(new Error('the database does not answer')), HELLO_MS);
    socket.once('error', reject).once('close', () => clearTimeout(limit));
    socket.once('connect', () => {
      const { localAddress } = socket;
      socket.destroy();
      resolve(localAddress === undefined ? '127.0.0.1' : localAddress.replace(/^::ffff:(?=\d+\.)/, ''));
    });
  });
}

function isEqual(a: string, b: string): boolean {
  const [one, other] = [Buffer.from(a), Buffer.from(b)];
  return one.length === other.length && timingSafeEqual(one, other);
}
