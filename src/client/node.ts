/** What programs on Node have beside the client: keys in files, certificates, and the environment that agents are started with. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import tls from 'node:tls';
import type { ConnectOptions } from './client.js';

export * from './index.js';

/**
 * How the environment says to connect: `SVC_API_URL` (addresses of several replicas with commas between), `SVC_API_KEY`, or
 * `SVC_SESSION_TOKEN` as agents have it, or the file `SVC_KEY_FILE`, and `SVC_CA_CERT`.
 */
export function fromEnvironment(env: Readonly<Record<string, string | undefined>> = process.env): ConnectOptions {
  if (env.SVC_CA_CERT) trustAuthority(env.SVC_CA_CERT);
  const url = (env.SVC_API_URL || 'http://127.0.0.1:8372').split(',').map((one) => one.trim());
  return { url, key: env.SVC_API_KEY || env.SVC_SESSION_TOKEN || (env.SVC_KEY_FILE ? keyIn(env.SVC_KEY_FILE) : undefined) };
}

/** The key that a file holds. @throws when it cannot be read or holds none */
export function keyIn(file: string): string {
  const key = readFileSync(file, 'utf8').trim();
  if (!/^[\x21-\x7e]+$/.test(key)) throw new Error(`${file} does not hold an API key`);
  return key;
}

/**
 * Trusts, beside the authorities that Node knows, the one in this PEM file, for this process. Nothing turns the verification off.
 *
 * @throws when the file holds no certificate, or this Node cannot be told of authorities while it runs
 */
export function trustAuthority(file: string, env: Readonly<Record<string, string | undefined>> = process.env): void {
  const pem = readFileSync(file, 'utf8');
  new X509Certificate(pem);
  // Since Node 22.19 and 24.5.
  if (typeof tls.setDefaultCACertificates !== 'function') {
    if (env.NODE_EXTRA_CA_CERTS !== undefined && resolve(env.NODE_EXTRA_CA_CERTS) === resolve(file)) return;
    throw new Error(`needs Node 22.19, 24.5 or newer, this is ${process.version}: set NODE_EXTRA_CA_CERTS=${resolve(file)} as well`);
  }
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), pem]);
}
