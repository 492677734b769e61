import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import tls from 'node:tls';
import { contextInUse } from './contexts/file.js';
import { CliError } from './errors.js';
import type { Io } from './io.js';
import type { Target, TargetOptions } from './target.js';

/**
 * Trusts, beside the authorities that Node knows, the one that `--ca-cert`, `SVC_CA_CERT` or the context names, for this process. Nothing
 * turns the verification off.
 *
 * @throws CliError when the file is none of a certificate, or this Node cannot be told of authorities while it runs
 */
export function trustAuthority({ url }: Target, options: TargetOptions, io: Io): void {
  const own = options.api === undefined && !io.env.SVC_API_URL ? contextInUse(io, options.context) : undefined;
  const [source, named] = [
    ['--ca-cert', options.caCert] as const,
    ['SVC_CA_CERT', io.env.SVC_CA_CERT || undefined] as const,
    [`the ca_cert of the context ${own?.name}`, own?.ca_cert] as const,
  ].find(([, path]) => path !== undefined) ?? ['', undefined];
  if (named === undefined || !url.startsWith('https:')) return;
  const file = resolve(io.cwd, named);
  const pem = certificates(file, source);
  // Since Node 22.19 and 24.5.
  if (typeof tls.setDefaultCACertificates !== 'function') {
    if (io.env.NODE_EXTRA_CA_CERTS !== undefined && resolve(io.cwd, io.env.NODE_EXTRA_CA_CERTS) === file) return;
    throw new CliError(`${source} needs Node 22.19, 24.5 or newer, this is ${process.version}: set NODE_EXTRA_CA_CERTS=${file} as well`);
  }
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), pem]);
}

function certificates(file: string, source: string): string {
  try {
    const pem = readFileSync(file, 'utf8');
    new X509Certificate(pem);
    return pem;
  } catch (error) {
    throw new CliError(`${source}: ${file} holds no certificate in PEM (${(error as Error).message})`);
  }
}

const UNTRUSTED: ReadonlySet<string> = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]);
const NO_TLS: ReadonlySet<string> = new Set(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG']);

/** Why a connection was not made for its certificate, which another try does not mend; undefined for another failure. */
export function distrust(url: string, error: unknown): string | undefined {
  const { code = '', message = '' } = ((error as { cause?: unknown } | null)?.cause ?? {}) as { code?: string; message?: string };
  if (UNTRUSTED.has(code))
    return `the certificate of ${url} is of no authority that is trusted here (${code}): name its CA with --ca-cert or SVC_CA_CERT`;
  if (code === 'CERT_HAS_EXPIRED') return `the certificate of ${url} has expired`;
  // A list of names that is empty ends in a colon.
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `the certificate of ${url} is for another name: ${message.replace(/[:\s]+$/, '')}; call the server as it is named there, with --api https://NAME:PORT or SVC_API_URL`;
  if (NO_TLS.has(code)) return `what answers at ${url} does not speak TLS: use http:// in the address`;
  return undefined;
}
