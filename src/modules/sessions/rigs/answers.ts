import type { FastifyReply } from 'fastify';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { stamped } from '../../configuration/config/answers.js';
import type { RigCreated } from './rig-creation.service.js';
import type { RigRead } from './rig-reads.service.js';
import type { RigCreateResponseBody } from './rigs.schemas.js';

/** How answers of this family look on the wire. The state of a rig is not all in the revision, so reads have no entity tag. */
export function read<T>(reply: FastifyReply, { body, index }: RigRead<T>): T {
  return stamped(reply, { index }, body);
}

export function created(reply: FastifyReply, city: CityScope, { status, body, revision, index }: RigCreated): RigCreateResponseBody {
  void reply.code(status);
  if (status !== 201) return body;
  void reply.header('location', `/v0/city/${encodeURIComponent(city.name)}/rig/${encodeURIComponent(body.rig ?? '')}`);
  return stamped(reply, { revision, index }, body);
}
