import type { Guard } from './guard.js';

const E2E = 'test/e2e/network.e2e-spec.ts';
const PROXY = 'src/platform/isolation/network/proxy.ts';

/** What agents reach of the network, where it is restricted. */
export const NETWORK: readonly Guard[] = [
  {
    guard: 'A session with a restricted network has none of the host.',
    file: 'src/platform/isolation/network/inside.ts',
    find: "args: ['--unshare-net', ",
    replace: 'args: [',
    test: E2E,
  },
  {
    guard: 'A host that no rule names is not called.',
    file: PROXY,
    find: 'if (!ours && !allowsHost(rules, host))',
    replace: "if (!ours && !allowsHost(rules, host) && host === '')",
    test: E2E,
  },
  {
    guard: 'Addresses of both families of a name are tried.',
    file: 'src/platform/outgoing/first-reached.ts',
    find: 'byTurns(addresses).slice(0, MOST)',
    replace: '(byTurns(addresses) && addresses).slice(0, MOST)',
    test: 'src/platform/outgoing/first-reached.spec.ts',
    name: 'are tried from each family by turns',
  },
  {
    guard: 'An address that refuses at once leaves its time to the others.',
    file: 'src/platform/outgoing/first-reached.ts',
    find: '(until - now()) / (tried.length - nth)',
    replace: '(ms + until * 0) / (tried.length + nth * 0)',
    test: 'src/platform/outgoing/first-reached.spec.ts',
    name: 'share the time for a connection',
  },
  {
    guard: 'What an agent says of trailers ends no worker.',
    file: PROXY,
    find: '...handedOn(request.headers), host:',
    replace: '...(handedOn(request.headers) && request.headers), host:',
    test: 'src/platform/isolation/network/proxy.spec.ts',
    name: 'takes what no proxy may hand on',
  },
  {
    guard: 'What an agent is answered ends no worker.',
    file: PROXY,
    find: 'if (!isAnswer(statusCode)) {',
    replace: 'if (!isAnswer(statusCode) && statusCode === undefined) {',
    test: 'src/platform/isolation/network/proxy.spec.ts',
    name: 'outlives what it is answered',
  },
  {
    guard: 'A restricted network is never open where nothing isolates.',
    file: 'src/modules/sessions/launch/session-sandbox.ts',
    find: "if (kind !== 'bubblewrap' && rules !== undefined) {",
    replace: "if (kind === 'users' && rules !== undefined) {",
    test: E2E,
    name: 'starts no session',
  },
  {
    guard: 'What agents reach is said by keys that may say what is run.',
    file: 'src/modules/tenancy/cities/city-lifecycle.controller.ts',
    find: "commands: ['start_command', 'network'],",
    replace: "commands: ['start_command'],",
    test: 'test/e2e/network-settings.e2e-spec.ts',
    name: 'and no other',
  },
  {
    guard: 'Who restricts the network where nothing can do so is told.',
    file: 'src/modules/hosts/runner-list/runner-walls.service.ts',
    find: 'if (walled === active) return {};',
    replace: 'if (walled <= active) return {};',
    test: 'test/e2e/network-settings.e2e-spec.ts',
    name: 'every runner can restrict',
  },
];
