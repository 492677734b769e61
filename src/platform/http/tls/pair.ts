import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { open } from 'node:fs/promises';
import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import type { TlsFiles } from '../../config/config.js';

/** A certificate, with the chain that leads to it, and its key: read, and found to belong together. */
export interface Pair {
  readonly cert: string;
  readonly key: string;
  /** The first certificate of the file, which is the server's own. */
  readonly leaf: X509Certificate;
}

/** A sentence for the operator that names the variable and the file. */
export class PairError extends Error {
  override readonly name = 'PairError';
}

/** A chain is some 10 KB; whatever is larger than this is no PEM file. */
const MAX_BYTES = 256 * 1024;
const REASONS: Readonly<Record<string, string>> = { ENOENT: 'does not exist', EACCES: 'may not be read', EISDIR: 'is a directory' };

/** @throws PairError when a file cannot be read or used, or the two do not belong together; not for its dates */
export async function readPair(files: TlsFiles): Promise<Pair> {
  const [cert, key] = await Promise.all([readText('SVC_TLS_CERT', files.cert), readText('SVC_TLS_KEY', files.key)]);
  return pairOf(files, cert, key);
}

/** As `readPair`, of texts that were read before. @throws PairError */
export function pairOf(files: TlsFiles, cert: string, key: string): Pair {
  const leaf = attempt(`SVC_TLS_CERT: ${files.cert} holds no certificate in PEM`, () => new X509Certificate(cert));
  const own = attempt(`SVC_TLS_KEY: ${files.key} holds no private key in PEM that needs no passphrase`, (): KeyObject =>
    createPrivateKey(key),
  );
  if (!leaf.checkPrivateKey(own))
    throw new PairError(`SVC_TLS_KEY: the key in ${files.key} does not belong to the certificate in ${files.cert}`);
  attempt(`SVC_TLS_CERT: ${files.cert} and ${files.key} cannot be used for TLS`, () => createSecureContext({ cert, key }));
  return { cert, key, leaf };
}

/** @throws PairError */
export async function readText(variable: string, file: string): Promise<string> {
  try {
    const handle = await open(file, 'r');
    try {
      const found = await handle.stat();
      if (!found.isFile()) throw new PairError(`${variable}: ${file} is no file`);
      if (found.size > MAX_BYTES) throw new PairError(`${variable}: ${file} has more than ${MAX_BYTES} bytes`);
      return await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof PairError) throw error;
    const { code = '', message } = error as NodeJS.ErrnoException;
    throw new PairError(`${variable}: ${file} ${REASONS[code] ?? `cannot be read: ${message}`}`, { cause: error });
  }
}

/** Whether a client that calls this host may take the certificate for it. */
export function namesHost(leaf: X509Certificate, host: string): boolean {
  return (isIP(host) === 0 ? leaf.checkHost(host) : leaf.checkIP(host)) !== undefined;
}

function attempt<T>(sentence: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new PairError(`${sentence} (${(error as Error).message})`, { cause: error });
  }
}
