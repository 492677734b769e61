import type { ClientRequest, IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Transform, type Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { createProxyServer, type ProxyServerOptions } from 'httpxy';
import { errors } from 'undici';
import { credentialOf } from '../../../../contract/principal.js';
import { problem, type ProblemError } from '../../../../contract/problems.js';
import { Slots } from '../../../../platform/collections/slots.js';
import { Lifecycle } from '../../../../platform/health/lifecycle.js';
import { answeredElsewhere } from '../../../../platform/http/auditing.js';
import type { BatchedResponse } from '../../../../platform/http/batched-response.js';
import { bePatient, refuseOnSocket } from '../../../../platform/http/client-error.js';
import { problemBody, PROBLEM_TYPE } from '../../../../platform/http/problem.renderer.js';
import { hasLeft, whenDisconnected } from '../../../../platform/http/leaving.js';
import { hijack, principalOf, requestId } from '../../../../platform/http/request.js';
import { takeUpgrade, wantsUpgrade, type Upgrade } from '../../../../platform/http/upgrades.js';
import { AppLogger } from '../../../../platform/logging/logger.js';
import { Shares, type ShareLimits } from '../../../../platform/turns/shares.js';
import { isAnswer, sayable } from '../../../../platform/outgoing/next-hop.js';
import { keyEnded, KeyWatch } from '../../../../platform/streams/key-watch.js';
import { forService, fromService } from './headers.js';
import { Owners, shares } from './owner-agent.js';
import { SharedExchange } from './shared-exchange.js';

/** What a request, and all of them, may take. Bytes and milliseconds. */
export class ForwardLimits implements ShareLimits {
  /** Of a request's body. Answers have no end. */
  readonly body: number = 1024 * 1024 * 1024;
  /** Requests and connections at once: of one service, which leaves some of its city's to others, of a city that is alone, and of this process. */
  readonly service: number = 1_536;
  readonly perCity: number = 2_048;
  readonly places: number = 4_096;
  /** Until a service answers, from the last byte that it was sent. */
  readonly answerMs: number = 120_000;
  /** In which nothing moves in either direction. */
  readonly idleMs: number = 15 * 60_000;

  constructor(overrides: Partial<ForwardLimits> = {}) {
    Object.assign(this, overrides);
  }
}

/** The process of a service, and what it is asked for. */
export interface Destination {
  readonly city: string;
  readonly pk: number;
  readonly address: string;
  readonly instance: string;
  /** With its query. */
  readonly path: string;
}

/** Ends something of a request at once. */
type End = () => void;

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
  /** What goes on, and how it is ended. */
  readonly #open = new Slots<{ readonly end: End; readonly lasting: boolean }>();
  /** How much of it is each service's. */
  readonly #counts = new Map<number, number>();
  readonly #cities: Shares<string>;
  readonly #proxy = createProxyServer();
  readonly #exchanges = new WeakMap<object, Exchange>();
  #stopping = false;

  constructor(
    private readonly owners: Owners,
    private readonly keys: KeyWatch,
    readonly limits: ForwardLimits,
    lifecycle: Lifecycle,
    private readonly log: AppLogger,
  ) {
    this.#cities = new Shares(limits);
    lifecycle.onStop('streams', 'streams of services', () => this.#stop());
    this.#proxy.on('proxyReq', (onward, request) => this.#exchanges.get(request)?.sent(onward));
    this.#proxy.on('proxyRes', (answer, request) => this.#exchanges.get(request)?.answered(answer));
  }

  /** @throws ProblemError before anything has been sent in either direction */
  async forward(request: FastifyRequest, reply: FastifyReply, to: Destination): Promise<void> {
    const { raw } = request;
    if (hasLeft(reply.raw)) return this.#tooLate(request, reply);
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

  /** Whoever asked has left before anything was done for it. */
  #tooLate(request: FastifyRequest, reply: FastifyReply): void {
    hijack(reply);
    answeredElsewhere(request, { status: LEFT.kind.status, code: LEFT.kind.code });
  }

  #admit({ headers }: IncomingMessage, { city, pk }: Destination): void {
    if (this.#stopping) throw problem('unavailable', 'this process is stopping, try again');
    const ofService = this.#counts.get(pk) ?? 0;
    if (ofService >= this.limits.service) throw problem('unavailable', `service unavailable: ${ofService} requests for it are open here`);
    if (!this.#cities.admits(city))
      throw problem('unavailable', `service unavailable: ${this.#cities.of(city)} requests for services of its city are open here`);
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
    if (!asked.response.headersSent) this.#answer(asked, asked.why);
    asked.end?.(asked.why);
  }

  async #during(asked: Asked, work: () => Promise<void>): Promise<void> {
    const { request, response, to } = asked;
    const { socket } = request.raw;
    const hurry = bePatient(socket);
    socket.setTimeout(this.limits.idleMs);
    const done = this.#opened(request, to, () => {
      this.#abort(asked, keyEnded());
      if (!response.headersSent) this.#answer(asked, asked.why!);
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
      if (!response.headersSent) this.#answer(asked, asked.why ?? this.#unreachable(error));
      // What was answered as a whole is on its way.
      else if (!response.writableEnded) response.destroy();
    } finally {
      // Who has left before it was answered may have changed something all the same.
      answeredElsewhere(request, { status: LEFT.kind.status, code: LEFT.kind.code });
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
    const done = this.#opened(request, to, () => socket.destroy(), true);
    try {
      await proxy.ws(request.raw, socket, { ...this.#options(to), upgradeTimeout: this.limits.answerMs }, head);
    } catch (error) {
      if (joined || socket.destroyed || !socket.writable) socket.destroy();
      else refuseOnSocket(this.#unreachable(error), socket, requestId(request));
      if (!joined) response.statusCode = 502;
    } finally {
      done();
      // It has no connection of its own any more that could tell it.
      response.emit('close');
    }
  }

  #opened(request: FastifyRequest, { city, pk }: Destination, end: End, lasting = false): () => void {
    const place = this.#open.add({ end, lasting });
    const leave = this.#cities.take(city);
    let isOpen = true;
    this.#counts.set(pk, (this.#counts.get(pk) ?? 0) + 1);
    const forget = this.keys.add(credentialOf(principalOf(request)), end);
    return () => {
      forget();
      if (!isOpen) return;
      isOpen = false;
      this.#open.remove(place);
      leave();
      const left = this.#counts.get(pk)! - 1;
      if (left === 0) this.#counts.delete(pk);
      else this.#counts.set(pk, left);
    };
  }

  #answer({ request, response, own }: Asked, why: ProblemError): void {
    const { status, retryAfter, code } = why.kind;
    const retries = why.headers['retry-after'] ?? retryAfter;
    answeredElsewhere(request, { status, code });
    if (response.destroyed) return;
    const { raw } = request;
    // What is still to come of its body is for nobody.
    if (!raw.complete) raw.resume();
    const body = problemBody(why, requestId(request));
    response.writeHead(status, {
      ...own,
      ...why.headers,
      ...(retries === undefined ? {} : { 'retry-after': String(retries) }),
      ...(raw.complete ? {} : { connection: 'close' }),
      'content-type': PROBLEM_TYPE,
      'content-length': String(Buffer.byteLength(body)),
    });
    // The proxy looks right after this whether there is an answer: what waits for the end of the turn is none to it.
    response.flushHeaders();
    response.end(request.method === 'HEAD' ? undefined : body);
  }

  #options(to: Destination): ProxyServerOptions {
    return {
      agent: this.owners.alone(to),
      // The path as it was written: as a URL it would be written anew.
      target: { protocol: 'http:', host: 'service', port: 80, pathname: to.path } as never,
      ignorePath: true,
    };
  }

  #unreachable(error: unknown): ProblemError {
    if (error instanceof errors.HeadersTimeoutError) return late();
    const { message, code } = error as NodeJS.ErrnoException;
    this.log.debug({ err: error }, 'a service could not be reached');
    return problem('bad_gateway', `service unavailable: ${code ?? message}`, { headers: { 'retry-after': AGAIN_S } });
  }

  /** What goes on for ever ends; what is being answered has a moment more. */
  #stop(): void {
    this.#stopping = true;
    for (const { end, lasting } of [...this.#open]) if (lasting) end();
  }
}

/** Seconds. A process that has ended is begun anew after one. */
const AGAIN_S = '1';

const LEFT = problem('bad_gateway', 'whoever has asked has left');

const late = (): ProblemError => problem('bad_gateway', 'service unavailable: it has not answered in time');

const noAnswer = (status = 0): ProblemError =>
  problem('bad_gateway', `service unavailable: the status ${status} of what it says is none of an answer`, {
    headers: { 'retry-after': AGAIN_S },
  });

/** Whether it may have failed for the connection that it shared, and not for the service. */
function wasKept(error: unknown): boolean {
  if (error instanceof errors.SocketError) return (error.socket?.bytesRead ?? 0) > 0;
  return ['ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '');
}

function tooLarge(limit: number): ProblemError {
  return problem('payload_too_large', `the request body exceeds ${limit} bytes`);
}
