import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { maySee } from '../../../../contract/principal.js';
import { problem } from '../../../../contract/problems.js';
import { AppConfig } from '../../../../platform/config/config.js';
import { isLoopbackName } from '../../../../platform/http/host.js';
import { isIdentified, principalOf } from '../../../../platform/http/request.js';
import { wantsUpgrade } from '../../../../platform/http/upgrades.js';
import { isSupported } from '../service-definition.js';
import type { Routed } from '../services.repository.js';
import { refusal } from './access.js';
import { Forwarding } from './forwarding.js';
import { ServiceRoutes } from './service-routes.js';
import { targetOf, type ServiceTarget } from './target.js';

/** Answers requests for services of cities: who may, which process, and then what that says. */
@Injectable()
export class ServiceProxy {
  constructor(
    private readonly config: AppConfig,
    private readonly routes: ServiceRoutes,
    private readonly forwarding: Forwarding,
  ) {}

  /** @throws ProblemError */
  async serve(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const caller = principalOf(request);
    const identified = isIdentified(request);
    const needsKey = this.config.auth === 'keys';
    const target = readTarget(request);
    const row = maySee(caller, target.city) ? await this.routes.read(target.city, target.service) : undefined;
    const asking = {
      method: request.method,
      upgrade: wantsUpgrade(request),
      marked: (request.headers['x-svc-request'] ?? '') !== '',
      near: isLoopbackName(request.socket.remoteAddress ?? ''),
      caller,
      identified,
    };
    const place = { readOnly: this.config.readOnly, needsKey };
    // Whoever has no key is not told what there is.
    const refused = refusal(row?.definition ?? HIDDEN, asking, place);
    if (refused?.problem === 'unauthorized') throw refused;
    if (row === undefined) throw problem('city_not_found', 'city not found or not running');
    if (row === null) throw problem('not_found', 'service route not found');
    if (refused !== undefined) throw refused;
    if (row.definition.kind === 'workflow') return this.#builtIn(reply, request.method, target, row);
    if (row.state !== 'ready' || !row.owned || row.address === null || row.instance === null) throw unready(row);
    const { pk, address, instance } = row;
    return this.forwarding.forward(request, reply, { city: target.city, pk, address, instance, path: target.path + target.query });
  }

  /** The one contract there is: whether the service is there. */
  #builtIn(reply: FastifyReply, method: string, { city, service, path }: ServiceTarget, row: Routed): FastifyReply {
    if (!isSupported(row.definition.contract)) throw unready(row);
    if (path !== '/' && path !== '/healthz') throw problem('not_found', 'service route not found');
    if (method !== 'GET' && method !== 'HEAD')
      throw problem('method_not_allowed', 'allowed here: GET, HEAD', { headers: { allow: 'GET, HEAD' } });
    const body = { ok: true, city_name: city, service, contract: row.definition.contract };
    return reply.code(200).header('content-type', 'application/json').send(JSON.stringify(body));
  }
}

/** As if there were a service that is hidden: what is said of it is said of those that are not there. */
const HIDDEN = {
  kind: 'workflow',
  publishMode: 'private',
  stateRoot: '',
  visibility: 'private',
  hostname: '',
  allowWebsockets: false,
} as const;

function readTarget({ raw, params }: FastifyRequest): ServiceTarget {
  const { cityName } = params as { cityName: string };
  const target = targetOf(raw.url ?? '');
  // Two readings of one path would ask about one city and call another.
  if (target.city !== cityName) throw problem('not_found', 'service route not found');
  return target;
}

function unready({ state, local_state, reason, owned }: Routed): Error {
  const why = state === 'ready' && !owned ? 'owner_lost' : (reason ?? (state === 'ready' ? 'starting' : local_state));
  return problem('unavailable', `service unavailable: ${why}`);
}
