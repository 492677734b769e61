import type { ClientRequest, IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Transform, type Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { createProxyServer, type ProxyServerOptions } from 'httpxy';
import { problem, type ProblemError } from '../../../../contract/problems.js';
import { Lifecycle } from '../../../../platform/health/lifecycle.js';
import { answeredElsewhere } from '../../../../platform/http/auditing.js';
import type { BatchedResponse } from '../../../../platform/http/batched-response.js';
import { bePatient, refuseOnSocket } from '../../../../platform/http/client-error.js';
import { hasLeft, whenDisconnected } from '../../../../platform/http/leaving.js';
import { hijack, requestId } from '../../../../platform/http/request.js';
import { takeUpgrade, wantsUpgrade, type Upgrade } from '../../../../platform/http/upgrades.js';
import { AppLogger } from '../../../../platform/logging/logger.js';
import { isAnswer, sayable } from '../../../../platform/outgoing/next-hop.js';
import { keyEnded, KeyWatch } from '../../../../platform/streams/key-watch.js';
import { answerFor, late, LEFT, noAnswer, noteLeft, tooLarge, unreachable, wasKept } from './forward-failures.js';
import { ForwardLimits, ForwardPlaces } from './forward-places.js';
import { forService, fromService } from './headers.js';
import { Owners, shares } from './owner-agent.js';
import { SharedExchange } from './shared-exchange.js';

/** The process of a service, and what it is asked for. */
export interface Destination {
  readonly city: string;
  readonly pk: number;
  readonly address: string;
  readonly instance: string;
  /** With its query. */
  readonly path: string;
}

/** What is done when a request goes on its way, and when its answer begins. */
interface Exchange {
  sent(onward: ClientRequest): void;
  answered(answer: IncomingMessage): void;
}

/** A request, where its answer goes with the headers of this process, and the service. */
interface Asked {
  readonly request: FastifyRequest;
  readonly response: ServerResponse;
  readonly own: ReturnType<typeof hijack>;
  readonly to: Destination;
  /** Its connection ends with the answer. */
  readonly closes: boolean;
  /** Ends what is under way at the service. */
  end?: (why: Error) => void;
  /** Why it was ended from here. */
  why?: ProblemError;
}

/** What a request without a body has in its place: to look for one costs a tenth of what forwarding it does. */
const NO_BODY = { pipe: (onward: ClientRequest) => onward.end() } as unknown as Readable;

/** Carries requests to services and their answers back, as they come: neither of them is ever here as a whole. */
@Injectable()
export class Forwarding {
  readonly #proxy = createProxyServer();
  readonly #places: ForwardPlaces;
  readonly #exchanges = new WeakMap<object, Exchange>();

  constructor(
    private readonly owners: Owners,
    keys: KeyWatch,
    readonly limits: ForwardLimits,
    lifecycle: Lifecycle,
    private readonly log: AppLogger,
  ) {
    this.#places = new ForwardPlaces(limits, keys);
    lifecycle.onStop('streams', 'streams of services', () => this.#places.stop());
    this.#proxy.on('proxyReq', (onward, request) => this.#exchanges.get(request)?.sent(onward));
    this.#proxy.on('proxyRes', (answer, request) => this.#exchanges.get(request)?.answered(answer));
  }

  /** @throws ProblemError before anything has been sent in either direction */
  async forward(request: FastifyRequest, reply: FastifyReply, to: Destination): Promise<void> {
    const { raw } = request;
    if (hasLeft(reply.raw)) {
      hijack(reply);
      return noteLeft(request);
    }
    this.#admit(raw, to);
    const { connection: asked } = raw.headers;
    // What is read from here on is the service's: its own name, and nothing that was meant for this door.
    const headers = forService(raw.headers, requestId(request));
    const share = !wantsUpgrade(request) && shares(raw.method ?? '', raw.headers);
    const upgrade = takeUpgrade(request);
    if (upgrade !== undefined) {
      hijack(reply);
      raw.headers = { ...headers, connection: 'Upgrade', upgrade: 'websocket' };
      return this.#join(request, reply.raw, upgrade, to);
    }
    const closes = reply.getHeader('connection') === 'close' || !reply.raw.shouldKeepAlive || /\bclose\b/i.test(asked ?? '');
    const one: Asked = { request, response: reply.raw, own: hijack(reply), to, closes };
    if (share) return this.#share(one, headers);
    return this.#during(one, () => {
      // Who says how long it is has been believed, and is held to it.
      const body = raw.headers['transfer-encoding'] === undefined ? undefined : this.#counted(raw, (why) => this.#abort(one, why));
      return this.#put(one, headers, body);
    });
  }

  #admit({ headers }: IncomingMessage, to: Destination): void {
    this.#places.admit(to);
    const coding = headers['transfer-encoding'];
    if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked')
      throw problem('bad_request', 'the only transfer coding here is chunked', { at: 'header.Transfer-Encoding' });
    if (Number(headers['content-length'] ?? 0) > this.limits.body) throw tooLarge(this.limits.body);
  }

  /** What has no body and changes nothing goes on a connection that is kept. */
  #share(asked: Asked, headers: IncomingHttpHeaders): Promise<void> {
    const { request, response, to } = asked;
    const { method } = request.raw;
    const exchange = new SharedExchange(response as BatchedResponse, ({ status, message, headers: answered }) => {
      const onward = this.#begin(asked, status, answered);
      if (asked.closes) onward.connection = 'close';
      response.writeHead(status, sayable(message), onward);
    });
    asked.end = (why) => exchange.abort(why);
    return this.#during(asked, async () => {
      this.owners.shared(to).dispatch({ path: to.path, method: method as 'GET', headers, headersTimeout: this.limits.answerMs }, exchange);
      await exchange.over.catch((error: unknown) => {
        if (asked.why !== undefined || response.headersSent || response.destroyed || !wasKept(error)) throw error;
        // It was closed while it was kept: nobody has heard the request.
        return this.#put(asked, headers, NO_BODY);
      });
    });
  }

  /** A request on a connection of its own. */
  async #put(asked: Asked, headers: IncomingHttpHeaders, body: Readable | undefined): Promise<void> {
    const { request, response, to, closes } = asked;
    const { raw } = request;
    raw.headers = closes ? { ...headers, connection: 'close' } : headers;
    let sent: ClientRequest | undefined;
    this.#exchanges.set(raw, {
      sent: (onward) => {
        sent = onward;
        asked.end = (why) => onward.destroy(why);
        if (asked.why !== undefined) return void onward.destroy(asked.why);
        onward.setTimeout(this.limits.answerMs, () => this.#abort(asked, late()));
        // Where nobody listens, Node closes the connection and says no more of the request.
        onward.once('upgrade', ({ statusCode }, socket) => {
          socket.destroy();
          this.#refuse(asked, noAnswer(statusCode));
        });
      },
      answered: (answer) => {
        sent?.setTimeout(0);
        const { statusCode } = answer;
        if (!isAnswer(statusCode)) return this.#refuse(asked, noAnswer(statusCode));
        answer.headers = this.#begin(asked, statusCode, answer.headers) as IncomingHttpHeaders;
        answer.statusMessage = sayable(answer.statusMessage);
        setImmediate(() => {
          if (!response.headersSent && !response.destroyed) response.flushHeaders();
        });
      },
    });
    try {
      await this.#proxy.web(raw, response, { ...this.#options(to), ...(body === undefined ? {} : { buffer: body }) });
    } finally {
      // It leads to its own key: measured, what is left here outlives 99 of 100 small collections, and a large one comes ten times as often.
      this.#exchanges.delete(raw);
    }
  }

  /** The headers of an answer, as they go on. */
  #begin({ request, own }: Asked, status: number, headers: IncomingHttpHeaders): OutgoingHttpHeaders {
    answeredElsewhere(request, { status, code: null });
    return fromService(headers, own);
  }

  #abort(asked: Asked, why: ProblemError): void {
    asked.why ??= why;
    if (asked.response.headersSent) asked.response.destroy();
    else asked.end?.(why);
  }

  /** Instead of an answer that cannot go on. */
  #refuse(asked: Asked, why: ProblemError): void {
    asked.why ??= why;
    if (!asked.response.headersSent) answerFor(asked, asked.why);
    asked.end?.(asked.why);
  }

  async #during(asked: Asked, work: () => Promise<void>): Promise<void> {
    const { request, response, to } = asked;
    const { socket } = request.raw;
    const hurry = bePatient(socket);
    socket.setTimeout(this.limits.idleMs);
    const done = this.#places.take(request, to, () => {
      this.#abort(asked, keyEnded());
      if (!response.headersSent) answerFor(asked, asked.why!);
    });
    let unwatch = (): void => undefined;
    const left = new Promise<void>((resolve) => {
      unwatch = whenDisconnected(socket, () => {
        this.#leave(asked);
        resolve();
      });
    });
    try {
      await Promise.race([work(), left]);
    } catch (error) {
      if (!response.headersSent) answerFor(asked, asked.why ?? unreachable(error, this.log));
      // What was answered as a whole is on its way.
      else if (!response.writableEnded) response.destroy();
    } finally {
      // Who has left before it was answered may have changed something all the same.
      noteLeft(request);
      unwatch();
      hurry();
      done();
    }
  }

  /** Its connection has ended: nobody takes an answer, also where that still waits for the one before it. */
  #leave(asked: Asked): void {
    asked.why ??= LEFT;
    asked.end?.(asked.why);
    asked.response.destroy();
  }

  /** A body that does not say how long it is. */
  #counted(raw: IncomingMessage, abort: (why: ProblemError) => void): Transform {
    let left = this.limits.body;
    const counted = new Transform({
      transform: (chunk: Buffer, _encoding, next) => {
        left -= chunk.length;
        if (left >= 0) return next(null, chunk);
        raw.unpipe(counted);
        raw.resume();
        abort(tooLarge(this.limits.body));
      },
    });
    raw
      .once('error', () => counted.destroy())
      .once('close', () => {
        if (!raw.complete) counted.destroy();
      });
    return raw.pipe(counted);
  }

  async #join(request: FastifyRequest, response: ServerResponse, { socket, head }: Upgrade, to: Destination): Promise<void> {
    const proxy = createProxyServer();
    let joined = false;
    proxy.on('open', (onward) => {
      joined = true;
      response.statusCode = 101;
      socket.setTimeout(this.limits.idleMs, () => socket.destroy());
      // Each side ends with the other, also where one has nothing more to say and the other goes on for ever.
      socket.once('close', () => onward.destroy());
      onward.once('close', () => socket.destroySoon());
    });
    // What is not read any more would not be seen to leave.
    socket.once('finish', () => socket.destroySoon());
    const done = this.#places.take(request, to, () => socket.destroy(), true);
    try {
      await proxy.ws(request.raw, socket, { ...this.#options(to), upgradeTimeout: this.limits.answerMs }, head);
    } catch (error) {
      if (joined || socket.destroyed || !socket.writable) socket.destroy();
      else refuseOnSocket(unreachable(error, this.log), socket, requestId(request));
      if (!joined) response.statusCode = 502;
    } finally {
      done();
      // It has no connection of its own any more that could tell it.
      response.emit('close');
    }
  }

  #options(to: Destination): ProxyServerOptions {
    return {
      agent: this.owners.alone(to),
      // The path as it was written: as a URL it would be written anew.
      target: { protocol: 'http:', host: 'service', port: 80, pathname: to.path } as never,
      ignorePath: true,
    };
  }
}
