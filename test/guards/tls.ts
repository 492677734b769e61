import type { Guard } from './guard.js';

const UNIT = 'src/platform/http/tls/certificate.spec.ts';
const E2E = 'test/e2e/tls.e2e-spec.ts';
const PAIR = 'src/platform/http/tls/pair.ts';
const CERTIFICATE = 'src/platform/http/tls/certificate.ts';
const HANDSHAKES = 'src/platform/http/tls/handshakes.ts';

/** HTTPS: what is served, and what is trusted. */
export const TLS: readonly Guard[] = [
  {
    guard: 'A client on an old Node trusts an authority of ours all the same: the pinned Node runs it.',
    file: 'bin/svc.js',
    find: 'if (names && ',
    replace: 'if (false && ',
    test: 'test/e2e/node-version.e2e-spec.ts',
    name: 'gives way to the pinned one',
  },
  {
    guard: 'A key that belongs to another certificate is refused.',
    file: PAIR,
    find: 'if (!leaf.checkPrivateKey(own))',
    replace: "if (!leaf.checkPrivateKey(own) && cert === '')",
    test: UNIT,
  },
  {
    guard: 'A moment in which two files do not belong together is not spoken of.',
    file: CERTIFICATE,
    find: 'const again = this.#refused?.texts === texts;',
    replace: 'const again = true as boolean;',
    test: UNIT,
  },
  {
    guard: 'What was refused is told of once.',
    file: CERTIFICATE,
    find: 'if (again && !this.#refused!.told)',
    replace: 'if (again)',
    test: UNIT,
  },
  {
    guard: 'An expired certificate does not replace a good one.',
    file: CERTIFICATE,
    find: 'if (pair.leaf.validToDate.getTime() <= now && this.expires > now)',
    replace: 'if (pair.leaf.validToDate.getTime() <= now && this.expires < now)',
    test: UNIT,
  },
  {
    guard: 'A certificate that expires is spoken of.',
    file: CERTIFICATE,
    find: 'if (step < this.#reminded) {',
    replace: 'if (step < -this.#reminded) {',
    test: UNIT,
  },
  {
    guard: 'New connections get the new certificate.',
    file: CERTIFICATE,
    find: 'server.setSecureContext({ ...SECURE, cert, key })',
    replace: 'void [server, cert, key]',
    test: E2E,
    name: 'resumes a stream',
  },
  {
    guard: 'Who speaks plain HTTP to a TLS port is told so.',
    file: HANDSHAKES,
    find: "if (PLAIN.has(code ?? '') && plain.writable)",
    replace: "if (PLAIN.has(code ?? '') && !plain.writable)",
    test: E2E,
    name: 'plain HTTP',
  },
  {
    guard: 'A connection that never says hello does not hold the stop up.',
    file: 'src/platform/http/tls/handshakes.ts',
    find: 'for (const socket of this.#open) socket.destroy();',
    replace: '',
    test: 'src/platform/http/tls/handshakes.spec.ts',
  },
  {
    guard: 'What is wrong with a pair is said before anything is started.',
    file: 'src/entry/service.ts',
    find: 'if (config.tls !== undefined) await readPair(config.tls);',
    replace: '',
    test: E2E,
    name: 'with a pair that is none',
  },
  {
    guard: 'The client verifies who answers.',
    file: 'src/cli/trust.ts',
    find: "if (named === undefined || !url.startsWith('https:')) return;",
    replace: "process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';\n  if (named === undefined || !url.startsWith('https:')) return;",
    test: E2E,
    name: 'trusts it when it is named',
  },
  {
    guard: 'The start shows an address that its front door answers to.',
    file: 'src/entry/welcome.ts',
    find: 'config.apiUrl ?? calledAt(url)',
    replace: 'config.apiUrl ?? url',
    test: 'src/entry/welcome.spec.ts',
  },
];
