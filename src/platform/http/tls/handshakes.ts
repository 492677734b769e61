import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { problem, type ProblemError } from '../../../contract/problems.js';

/** Whoever has not said hello by then does not mean us. */
export const HANDSHAKE_MS = 10_000;
/** What OpenSSL calls the first bytes of somebody who does not speak TLS. */
const PLAIN: ReadonlySet<string> = new Set(['ERR_SSL_HTTP_REQUEST', 'ERR_SSL_HTTPS_PROXY_REQUEST', 'ERR_SSL_WRONG_VERSION_NUMBER']);

/** The socket below, which Node keeps on the one that it makes of it. */
const below = (socket: Socket): Socket | undefined => (socket as TLSSocket & { _parent?: Socket })._parent;

/** Connections to a TLS port that are none of HTTP's yet: the server neither counts nor closes them by itself. */
export class Handshakes {
  readonly #open = new Set<Socket>();

  constructor(server: Server) {
    server.on('connection', (socket: Socket) => {
      this.#open.add(socket);
      socket.once('close', () => this.#open.delete(socket));
    });
    server.on('secureConnection', (socket: TLSSocket) => this.#open.delete(below(socket)!));
  }

  /**
   * Ends a connection whose handshake has failed. Undefined for one that had been made before.
   *
   * @param answer writes a refusal onto the bare socket of somebody who speaks plain HTTP
   */
  failed({ code }: NodeJS.ErrnoException, socket: Socket, answer: (refused: ProblemError, plain: Socket) => void): boolean {
    const plain = below(socket);
    if (plain === undefined || !this.#open.has(plain)) return false;
    if (PLAIN.has(code ?? '') && plain.writable) answer(speaksTls(), plain);
    else socket.destroy();
    return true;
  }

  closeAll(): void {
    for (const socket of this.#open) socket.destroy();
  }
}

const speaksTls = (): ProblemError => problem('bad_request', 'this port speaks HTTPS: use https:// in the address', { at: 'request' });
