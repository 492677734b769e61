import type { FastifyReply, FastifyRequest, RouteOptions, onRequestHookHandler, preHandlerAsyncHookHandler } from 'fastify';
import { may, whyNotAdminister, type Principal } from '../../contract/principal.js';
import { problem, type ProblemError } from '../../contract/problems.js';
import type { AppConfig } from '../config/config.js';
import {
  ADAPTER_TOKEN_PREFIX,
  Authenticator,
  COMMAND_TOKEN_PREFIX,
  KEY_PREFIX,
  SESSION_TOKEN_PREFIX,
  SessionPolicy,
} from './authenticator.js';
import { atMost } from '../time/clock.js';
import { HostAllowList, ownAddresses } from './host.js';
import { whenGone } from './leaving.js';
import type { OperationSpec } from './operation.js';
import { CORS_HEADERS, OriginPolicy } from './origins.js';
import type { ProblemRenderer } from './problem.renderer.js';
import { partyOf, RateLimits, StreamLimits } from './rate-limits.js';
import type { RequestsInWork } from './requests-in-work.js';
import { SenderLanes } from './sender-lanes.js';
import { authority, isIdentified, pathOf, principalOf, REQUEST_ID_HEADER, requestId, setPrincipal } from './request.js';
import { RouteTable } from './routes.js';
import { refusedTarget } from './target.js';
import type { UnreadAnswers } from './unread-answers.js';
import { wantsUpgrade } from './upgrades.js';

/**
 * The front door, run before anything reads a body. One hook a route, closed over what is known about the route, so
 * that a read costs a handful of comparisons. The order is part of the contract: request id, Host, CORS, key, limits, CSRF,
 * read-only; then the router's own answers.
 */
export const MUTATIONS: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);
/** How long a request of an operation that only tells more to a key (`knowsKeys`) waits for its caller to be known. Probes are such, and have to be answered while the database hangs. */
const KNOWN_MS = 300;
/** The caller of a webhook or a forwarded request without a key. */
const SENDER: Principal = Object.freeze({ actor: 'sender', keyId: '~senders', scope: 'read', cities: [] });

/** Tokens of the programs that are run for cities, and why one of them is refused. */
const PROGRAM_TOKENS = [
  [SESSION_TOKEN_PREFIX, 'the token is not valid: its session has another process by now, or none'],
  [COMMAND_TOKEN_PREFIX, 'the token is not valid: its command is not carried out any more'],
  [ADAPTER_TOKEN_PREFIX, 'the token is not valid: its adapter is not registered, or has another one by now'],
] as const;

/** What a route may say about itself in Fastify's route configuration. */
export interface RouteConfiguration {
  readonly operation?: OperationSpec;
  /** True when the handler declares no query parameters: any is refused. */
  readonly noQuery?: boolean;
}

export class Gate {
  readonly #hosts: HostAllowList;
  readonly #origins: OriginPolicy;
  readonly #routes = new RouteTable();
  readonly #rates: RateLimits;
  /** Rates of callers without a key, apart from those of keys. */
  readonly #keylessRates: RateLimits;
  readonly #lanes = new SenderLanes();
  #streams: StreamLimits;
  #authenticator: Authenticator | undefined;
  #policy: SessionPolicy | undefined;
  #draining = false;

  constructor(
    private readonly config: AppConfig,
    private readonly renderer: ProblemRenderer,
    private readonly inWork: RequestsInWork,
    private readonly unread: UnreadAnswers,
  ) {
    this.#hosts = new HostAllowList([...config.allowedHosts, ...ownAddresses(config)]);
    this.#origins = new OriginPolicy(config.allowedOrigins);
    this.#rates = new RateLimits(config.rateLimits);
    this.#keylessRates = new RateLimits(config.rateLimits);
    this.#streams = new StreamLimits(config.streamLimits);
  }

  use(authenticator: Authenticator, policy: SessionPolicy | undefined): void {
    this.#authenticator = authenticator;
    this.#policy = policy;
  }

  /** Replaces the counter of streams by one that the caller shares. */
  count(streams: StreamLimits): void {
    this.#streams = streams;
  }

  /** From now on every answer tells the client to open its next connection elsewhere. */
  drain(): void {
    this.#draining = true;
    this.inWork.drain();
  }

  /** The hook of one route; also notes the route for 405. */
  forRoute(route: RouteOptions): onRequestHookHandler {
    const method = [route.method].flat()[0]!.toUpperCase();
    const { operation, noQuery } = (route.config ?? {}) as RouteConfiguration;
    const mutation = MUTATIONS.has(method) || (operation?.claims === true && method === 'GET');
    const guarded = operation !== undefined && operation.public !== true;
    const foreign = operation?.foreign === true;
    const forwarded = operation?.forwarded === true;
    const keys = this.config.auth === 'keys';
    const needsKey = keys && guarded && !foreign && !forwarded;
    /** Callers without a key share rates and turns: those of one key for each lane of cities. */
    const keylessShare = foreign || (forwarded && keys);
    const knowsKeys = keys && (operation?.knowsKeys === true || foreign);
    const noHead = method === 'HEAD' && operation?.stream !== undefined;
    if (!noHead) this.#routes.add(route);
    const after = (request: FastifyRequest, reply: FastifyReply): ProblemError | undefined => {
      if (guarded) {
        const refused = this.#tooMany(request, reply, operation, keylessShare);
        if (refused !== undefined) return refused;
      }
      if (noHead) return methodNotAllowed(['GET', 'OPTIONS']);
      return (mutation && !forwarded ? this.#mutation(request, foreign) : undefined) ?? refusedTarget(request.raw.url!, noQuery === true);
    };
    const enter = (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
      const refused = after(request, reply);
      if (refused !== undefined) return this.renderer.send(refused, request, reply);
      if (!guarded) return done();
      const { cityName } = request.params as { cityName?: string };
      // Callers without a key take turns with each other, a lane at a time, and not with keys.
      const party =
        keylessShare && !isIdentified(request) ? partyOf(SENDER, this.#lanes.of(cityName)) : partyOf(principalOf(request), cityName);
      const unread = this.unread.refusal(party);
      if (unread !== undefined) return this.renderer.send(unread, request, reply);
      this.inWork.enter(request, party, (why) => (why === undefined ? done() : this.renderer.send(why, request, reply)));
    };
    return (request, reply, done) => {
      const changes = forwarded ? MUTATIONS.has(request.method) || wantsUpgrade(request) : mutation;
      const refused = this.#open(request, reply, changes);
      if (refused !== undefined) return this.renderer.send(refused, request, reply);
      if (knowsKeys && bearer(request.raw.headers.authorization) !== undefined) {
        // Anonymous without a good key, and while the keys cannot be read.
        const go = (): void => enter(request, reply, done);
        if (foreign) return this.#authenticate(request, operation, false, go);
        const known = new Promise((resolve) => this.#authenticate(request, operation, false, resolve));
        return void atMost(KNOWN_MS, known).then(go, go);
      }
      // A token of a program, or a key for a forwarded request, is checked even where no key is needed: it must not pass as anonymous.
      const hasCredential = guarded && (hasProgramToken(request) || (forwarded && keys && hasKey(request)));
      if (!needsKey && !hasCredential) return enter(request, reply, done);
      this.#authenticate(request, operation, mutation && !forwarded, (why) =>
        why === undefined ? enter(request, reply, done) : this.renderer.send(why, request, reply),
      );
    };
  }

  /** The hook of a route that changes something, run once its body is read: whether a key, or a session, may do just this. */
  afterBody({ config }: RouteOptions): preHandlerAsyncHookHandler {
    const { operation } = (config ?? {}) as RouteConfiguration;
    return async (request) => {
      const caller = principalOf(request);
      if (operation === undefined) return;
      const { params, query, body } = request as { params: Record<string, unknown>; query: Record<string, unknown>; body: unknown };
      if (operation.commands?.some((member) => hasMember(body, member)) === true && !may(caller, 'commands'))
        throw problem(
          'forbidden',
          `the API key may not say what is run (${operation.commands.join(', ')}): that needs the right "commands"`,
        );
      if (caller.session === undefined) return;
      const why = await this.#policy!.refusal(caller, operation.id, { params, query, body });
      if (why !== undefined) throw problem('forbidden', why);
    };
  }

  /** Answers a request that no route matched: preflights, 404 and 405. */
  readonly unmatched = (request: FastifyRequest, reply: FastifyReply): void => {
    const refused = this.#open(request, reply, false);
    if (refused !== undefined) return this.renderer.send(refused, request, reply);
    if (request.method === 'OPTIONS') return void reply.code(204).send();
    const url = request.raw.url ?? '/';
    const wrong = refusedTarget(url, false);
    if (wrong !== undefined) return this.renderer.send(wrong, request, reply);
    const path = pathOf(url);
    const allow = this.#routes.allow(path);
    const why = allow === undefined ? problem('not_found', `no such path: ${shown(path)}`) : methodNotAllowed(allow);
    this.renderer.send(why, request, reply);
  };

  /** Answers what Fastify refuses before any hook has run (a malformed path, an endless parameter). */
  readonly refused = (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    this.renderer.send(this.#open(request, reply, false) ?? error, request, reply);
  };

  /** Request id, Host and CORS, for every request there is. */
  #open(request: FastifyRequest, reply: FastifyReply, mutation: boolean): ProblemError | undefined {
    void reply.header(REQUEST_ID_HEADER, requestId(request)).header('vary', 'Origin');
    if (this.#draining) void reply.header('connection', 'close');
    const { host, origin } = request.raw.headers;
    const named = authority(request.raw.url);
    if (!this.#hosts.allows(host) || (named !== undefined && !this.#hosts.allows(named)))
      return problem('host_not_allowed', 'supervisor Host header is not allowed');
    if (origin === undefined) return undefined;
    if (this.#origins.allows(origin, host)) {
      void reply.header('access-control-allow-origin', origin);
      for (const [name, value] of CORS_HEADERS) void reply.header(name, value);
    } else if (mutation) return problem('origin_not_allowed', 'pages of this origin may not change anything');
    return undefined;
  }

  /** Costs half a microsecond, and comes before anything that costs more. */
  #tooMany(request: FastifyRequest, reply: FastifyReply, { stream }: OperationSpec, keylessShare: boolean): ProblemError | undefined {
    const { cityName: city } = request.params as { cityName?: string };
    if (keylessShare && !isIdentified(request)) return this.#keylessRates.admit({ ...SENDER, keyId: this.#lanes.of(city) }, undefined);
    const caller = principalOf(request);
    const refused = this.#rates.admit(caller, city);
    if (refused !== undefined || stream === undefined || request.method === 'HEAD') return refused;
    return this.#streams.admit(caller, city, (leave) => whenGone(reply.raw, leave));
  }

  #mutation({ raw: { headers } }: FastifyRequest, foreign: boolean): ProblemError | undefined {
    const csrf = headers['x-svc-request'];
    if (foreign && headers.origin !== undefined) return problem('origin_not_allowed', 'pages may not send webhooks');
    if (!foreign && (csrf === undefined || csrf === '')) return problem('csrf', 'X-SVC-Request header required on mutation endpoints');
    if (this.config.readOnly) return problem('read_only', 'mutations disabled: server bound to non-localhost address');
    return undefined;
  }

  #authenticate(request: FastifyRequest, operation: OperationSpec | undefined, mutation: boolean, then: (why: unknown) => void): void {
    const changes = mutation ? operation : undefined;
    const token = bearer(request.raw.headers.authorization);
    if (token === undefined || this.#authenticator === undefined)
      return then(unauthorized('an API key is required: Authorization: Bearer svc_…'));
    const judge = (principal: Principal | undefined): void => {
      if (principal === undefined) return then(unauthorized(programToken(token)?.[1] ?? 'the API key is not valid'));
      // Before `setPrincipal`: where the policy does not admit an adapter it is refused, or anonymous on routes that need no key.
      if (principal.adapter !== undefined && !this.#admits(operation, principal))
        return then(
          mutation
            ? problem('forbidden', `adapters may not use ${operation!.id}`)
            : unauthorized('tokens of adapters are not good for this'),
        );
      setPrincipal(request, principal);
      const lacks = operation === undefined ? undefined : lacking(principal, operation);
      if (lacks !== undefined) return then(problem('forbidden', lacks));
      if (changes !== undefined && principal.session !== undefined && !this.#admits(changes, principal))
        return then(problem('forbidden', `sessions may not use ${changes.id}`));
      then(undefined);
    };
    const found = this.#authenticator.authenticate(token);
    if (found instanceof Promise) found.then(judge).catch(then);
    else judge(found);
  }

  #admits(operation: OperationSpec | undefined, principal: Principal): boolean {
    return operation !== undefined && this.#policy?.admits(operation.id, principal) === true;
  }
}

/** Why a key may not use an operation, before its body is read. Sessions are kept from operations on all cities by the policy and by the services. */
function lacking(principal: Principal, { needs }: OperationSpec): string | undefined {
  if (needs === 'all-cities' || needs === 'administer') {
    if (principal.session !== undefined) return undefined;
    if (needs === 'administer') return whyNotAdminister(principal);
    return principal.cities === undefined ? undefined : 'the API key is limited to cities';
  }
  if (needs === undefined || may(principal, needs)) return undefined;
  return `the API key lacks the right "${needs}"`;
}

function hasMember(body: unknown, member: string): boolean {
  if (typeof body !== 'object' || body === null) return false;
  const value = (body as Record<string, unknown>)[member];
  return value !== undefined && value !== null;
}

function programToken(token: string): (typeof PROGRAM_TOKENS)[number] | undefined {
  return PROGRAM_TOKENS.find(([prefix]) => token.startsWith(prefix));
}

/** Whether the request has a token of a program, good or not. */
function hasProgramToken(request: FastifyRequest): boolean {
  const token = bearer(request.raw.headers.authorization);
  return token !== undefined && programToken(token) !== undefined;
}

/** Whether the request has a key of this service, good or not. */
function hasKey(request: FastifyRequest): boolean {
  return bearer(request.raw.headers.authorization)?.startsWith(KEY_PREFIX) === true;
}

function bearer(header: string | undefined): string | undefined {
  return header === undefined ? undefined : /^bearer +(\S{1,512}) *$/i.exec(header)?.[1];
}

function unauthorized(why: string): ProblemError {
  return problem('unauthorized', why, { headers: { 'www-authenticate': 'Bearer' } });
}

function methodNotAllowed(allow: readonly string[]): ProblemError {
  return problem('method_not_allowed', `allowed here: ${allow.join(', ')}`, { headers: { allow: allow.join(', ') } });
}

function shown(path: string): string {
  return path.length > 200 ? `${path.slice(0, 200)}…` : path;
}
