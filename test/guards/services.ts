import type { Guard } from './guard.js';

const PROXY = 'test/e2e/service-proxy.e2e-spec.ts';
const SERVICES_TEST = 'test/e2e/services.e2e-spec.ts';

/** Services of cities, and who reaches them. */
export const SERVICES: readonly Guard[] = [
  {
    guard: 'No credentials of ours reach a service.',
    file: 'src/modules/services/proxy/headers.ts',
    find: "if (name === 'authorization' && CREDENTIAL.test(String(value))) continue;",
    replace: '',
    test: 'src/modules/services/proxy/headers.spec.ts',
  },
  {
    guard: 'What says where a body ends is nobody’s to take away.',
    file: 'src/modules/services/proxy/headers.ts',
    find: "name !== '' && !FRAMING.has(name)",
    replace: "name !== ''",
    test: 'src/modules/services/proxy/headers.spec.ts',
  },
  {
    guard: 'No path leads out of a service, however often it is encoded.',
    file: 'src/modules/services/proxy/target.ts',
    find: 'for (const segment of below) if (leadsOut(segment)) throw leavesService();',
    replace: 'for (const segment of below) if (leadsOut(segment)) break;',
    test: 'src/modules/services/proxy/target.spec.ts',
  },
  {
    guard: 'A connection of its own may change anything: who may only read gets none.',
    file: 'src/modules/services/proxy/access.ts',
    find: 'const changes = CHANGES.has(method) || upgrade;',
    replace: 'const changes = CHANGES.has(method);',
    test: 'src/modules/services/proxy/access.spec.ts',
  },
  {
    guard: 'WebSockets reach services that allow them.',
    file: 'src/modules/services/proxy/access.ts',
    find: 'return upgrade && !allowed ?',
    replace: 'return upgrade && allowed === undefined ?',
    test: 'src/modules/services/proxy/access.spec.ts',
  },
  {
    guard: 'A key of some cities reaches services of no other.',
    file: 'src/modules/services/proxy/service-proxy.ts',
    find: 'const row = maySee(caller, target.city) ? await this.repository.route(target.city, target.service) : undefined;',
    replace:
      'const row = target.city === undefined && maySee(caller, "") ? undefined : await this.repository.route(target.city, target.service);',
    test: PROXY,
    name: 'has a key',
  },
  {
    guard: 'A key that is good no more ends what was begun with it.',
    file: 'src/modules/services/proxy/forwarding.ts',
    find: 'this.keys.add(credentialOf(principalOf(request)), end)',
    replace: 'this.keys.add(credentialOf(principalOf(request)) && undefined, end)',
    test: PROXY,
    name: 'has a key',
  },
  {
    guard: 'A body that says nothing of its length ends at the limit.',
    file: 'src/modules/services/proxy/forwarding.ts',
    find: 'left -= chunk.length;',
    replace: 'left -= 0 * chunk.length;',
    test: PROXY,
    name: 'is refused beyond the limit',
  },
  {
    guard: 'A service has its places, and others have theirs.',
    file: 'src/modules/services/proxy/forwarding.ts',
    find: 'if (ofService >= this.limits.service ||',
    replace: 'if (ofService < 0 ||',
    test: PROXY,
    name: 'takes no place of others',
  },
  {
    guard: 'Who does not know the secret of the deployment reaches nothing at its hosts.',
    file: 'src/modules/services/hop.ts',
    find: 'if (end > LONGEST_HELLO || !isEqual(proof, proofOf(secret, instance)))',
    replace: 'if (end > LONGEST_HELLO || proof === secret.toString())',
    test: 'src/modules/services/hop.spec.ts',
  },
  {
    guard: 'What an owner says of a service that is not wanted any more counts no more.',
    file: 'src/modules/services/service-leases.repository.ts',
    find: "(wanted or ${state}::text in ('stopping', 'stopped'))",
    replace: '(wanted or ${state}::text is not null)',
    test: 'src/modules/services/service-leases.db-spec.ts',
  },
  {
    guard: 'A worker that has lost a service says nothing of it.',
    file: 'src/modules/services/service-leases.repository.ts',
    find: 'where pk = ${row.pk} and worker = ${worker} and generation = ${row.generation}',
    replace: 'where pk = ${row.pk} and ${worker}::text is not null and generation = ${row.generation}',
    test: 'src/modules/services/service-leases.db-spec.ts',
  },
  {
    guard: 'Services of a city that does not run are ended.',
    file: 'src/modules/config/following.repository.ts',
    find: 'or c.running is distinct from f.running',
    replace: '',
    test: SERVICES_TEST,
    name: 'end with their city',
  },
  {
    guard: 'What a killed host has left of a service is ended before the service is begun again.',
    file: 'src/modules/launch/city-commands.ts',
    find: 'generation?.startsWith(`${id}.`)',
    replace: 'generation === id',
    test: 'test/e2e/service-takeover.e2e-spec.ts',
    unproven: 'The sweep of what nobody has finds the same, a little later.',
  },
  {
    guard: 'A service that writes very much takes no more memory than it may.',
    file: 'src/modules/services/service-logs.ts',
    find: 'if (cost > this.#allowance || this.#lines.length >= MAX_WAITING)',
    replace: 'if (cost > AT_ONCE)',
    test: 'src/modules/services/service-logs.spec.ts',
  },
];
